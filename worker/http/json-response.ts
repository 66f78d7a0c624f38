/** A finished answer: the text of one JSON-RPC message, or of a batch of them. */
export type HttpAnswer = {
  readonly status: number
  readonly text: string
  /** Of the response, when the answer is its whole body. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Made once: a response copies them faster than it reads a list of them. */
const jsonHeaders = new Headers({ 'Content-Type': 'application/json' })

export function jsonResponse({ status, text, headers = {} }: HttpAnswer): Response {
  const response = new Response(text, { status, headers: jsonHeaders })
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}
