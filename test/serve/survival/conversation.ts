/** One traveller's conversation with the desk, whichever way they talk. */

export type Shape = 'one by one' | 'at once'

/** What each question is answered with. */
export const answers: Readonly<Record<string, string>> = {
  'Where to?': 'Oslo',
  'Ticket 1 to Oslo. Which seat?': '7A',
  'Which day?': 'Monday',
}

export type Trip = {
  shape: Shape
  /** The tool takes each answer once. */
  single: boolean
  /** Nobody else travels by that name. */
  traveller: string
  /** Where the diary is. */
  diary: string
  luggage: number
  /** Milliseconds in which an answer is wanted. */
  timeout?: number | undefined
}

export interface Conversation {
  readonly traveller: string
  /** What the client heard, in order, with the ids of events. */
  readonly heard: readonly string[]
  /** How it ended, once it has. */
  readonly end: string | undefined
  /** How often the client lost its stream and came back. */
  readonly returns: number
  /** Calls the tool, and hears its first questions. */
  begin(): Promise<void>
  /** Whether it has a connection, and drops it before anything happens. */
  readonly leaves: boolean
  /** Drops its connection. */
  leave(): void
  /** Answers the question that was asked first, and hears what comes of it. */
  answer(): Promise<void>
  /** Hears the end. */
  finish(): Promise<void>
  /** Loses what it heard last, and asks for it again, if it can. `false`: that is something else. */
  again(): Promise<boolean | undefined>
  close(): Promise<void>
}

export const callOf = ({ shape, single, traveller, diary, luggage, timeout }: Trip) => {
  const tool = shape === 'one by one' ? 'book' : 'arrange'
  return { name: single ? `${tool}_once` : tool, arguments: { traveller, diary, luggage, timeout } }
}

/** What the client may be asked. */
export type Asked = { method?: string; params?: Record<string, unknown> }

export function messageOf({ method, params = {} }: Asked): string {
  if (method === 'elicitation/create') return String(params.message)
  return (params.messages as [{ content: { text: string } }])[0].content.text
}

export function answerTo(asked: Asked): object {
  const text = answers[messageOf(asked)]
  return asked.method === 'elicitation/create'
    ? { action: 'accept', content: { text } }
    : { role: 'assistant', model: 'a model', content: { type: 'text', text } }
}

export type Ended = {
  result?: { content?: { text: string }[] }
  error?: { code: number; message: string; data?: { reason?: string } }
}

export function endOf({ result, error }: Ended): string {
  if (!error) return String(result?.content?.[0]?.text)
  return `error ${error.code}${error.data?.reason ? `, ${error.data.reason}` : ''}: ${error.message}`
}
