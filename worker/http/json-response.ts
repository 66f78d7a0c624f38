/** A complete answer: the text of one JSON-RPC message, or of a batch. */
export type HttpAnswer = {
  readonly status: number
  readonly text: string
  /** Headers of the response, if the answer is its whole body. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Created once: a response copies them faster than it reads a list of headers. */
const jsonHeaders = new Headers({ 'Content-Type': 'application/json' })

export function jsonResponse({ status, text, headers }: HttpAnswer): Response {
  const response = new Response(text, { status, headers: jsonHeaders })
  if (headers) for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}
