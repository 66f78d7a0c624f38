/**
 * One interface for published clients of every age, so that one suite drives them all. An adapter hides how a client
 * is spoken to, never what came back.
 */

/** One kind of published client, speaking one revision. */
export interface Generation {
  /** The package and how it is used. */
  readonly name: string
  /** The revision it settles on with a server that speaks all of them. */
  readonly revision: string
  /** What it is without, and why. */
  readonly cannot: Readonly<Partial<Record<Feature, Excuse>>>
  /** @param session takes up this session instead of starting one */
  connect(url: URL, answers: Answers, session?: string): Promise<Client>
}

/** What not every revision has, or not every client. */
export type Feature =
  | 'ping'
  | 'structured output'
  | 'structured output of any kind'
  | 'audio'
  | 'resource links'
  | 'elicitation'
  | 'ending a session'
  | 'taking up a session'
  | 'polling'
  | 'resumption'
  | 'cancelling by leaving'

/** Why a feature is missing, and how that shows: what a behaviour that needs it fails with. */
export type Excuse = { readonly because: string; readonly shows: RegExp }

/** How a client answers when it is asked. What is left out, it does not declare. */
export type Answers = {
  elicit?: (question: Question) => Elicited | Promise<Elicited>
  /** Gets the text to complete. */
  sample?: (prompt: string) => string | Promise<string>
  /** URIs. */
  roots?: readonly string[]
}

export type Question = { message: string; fields: readonly string[] }

export type Elicited =
  | { action: 'accept'; content: Record<string, string | number | boolean> }
  | { action: 'decline' | 'cancel' }

/** What came in besides answers. */
export type Notes = {
  /** What the client itself found wrong. */
  complaints: Error[]
  /** URIs of resources that were said to have changed. */
  updates: string[]
  /** Lists that were said to have changed. */
  changes: Set<'tools' | 'prompts' | 'resources'>
  /** Levels of the log lines that came in. */
  logs: string[]
}

export const newNotes = (): Notes => ({ complaints: [], updates: [], changes: new Set(), logs: [] })

export interface Client extends Readonly<Notes> {
  readonly revision: string | undefined
  readonly session: string | undefined
  readonly server: { readonly name: string | undefined; readonly instructions: string | undefined }
  /** Every JSON-RPC message that came in, as it came. */
  readonly heard: readonly Message[]

  ping(): Promise<unknown>
  /** Names, from all pages; so are the other lists. */
  tools(): Promise<string[]>
  resources(): Promise<string[]>
  templates(): Promise<string[]>
  prompts(): Promise<string[]>
  call(tool: string, args?: Record<string, unknown>, options?: CallOptions): Promise<ToolResult>
  read(uri: string): Promise<readonly Contents[]>
  /** The texts of its messages. */
  prompt(name: string, args?: Record<string, string>): Promise<unknown[]>
  complete(
    what: { prompt: string } | { template: string },
    argument: { name: string; value: string },
    context?: Record<string, string>,
  ): Promise<string[]>
  /** Log lines as severe as this from now on. */
  setLogLevel(level: 'debug' | 'warning'): Promise<void>
  /** Hears of changes of these resources and of every list, until `stop`. */
  watch(...uris: string[]): Promise<{ stop(): Promise<void> }>
  /** Ends the session. */
  end(): Promise<void>
  close(): Promise<void>
}

export type Message = {
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown>
  error?: { code: number; message: string }
}

export type CallOptions = {
  onProgress?: (done: number, total: number | undefined) => void
  signal?: AbortSignal
  /** Milliseconds after which the client gives up. */
  timeout?: number
}

export type ToolResult = { content: readonly Block[]; structured: unknown; failed: boolean }

export type Block = { type: string; text?: string }

export type Contents = { uri: string; text?: string; blob?: string }

type Listener = (message: never, ...more: never[]) => void

/**
 * Hears every message that comes in on a transport, before the client does.
 *
 * @param deliver hands a message on to the client, now or later
 */
export function overhear(
  transport: { onmessage?: Listener | undefined },
  deliver: (handOn: () => void) => void = (handOn) => handOn(),
): Message[] {
  const heard: Message[] = []
  let listener = transport.onmessage
  Object.defineProperty(transport, 'onmessage', {
    get: () => listener,
    set(next: Listener | undefined) {
      listener = (message, ...more) => {
        // A client that keeps the listener it finds calls both with the same message.
        if (heard.at(-1) !== message) heard.push(message)
        deliver(() => next?.(message, ...more))
      }
    },
  })
  return heard
}

/**
 * Hands messages of one chunk on as if each had come by itself. 1.x clients forget who wanted to hear of progress
 * as soon as they see the answer, and look at progress a moment after it has come.
 */
export function oneByOne(): (handOn: () => void) => void {
  let last = Promise.resolve()
  return (handOn) => {
    last = last.then(() => new Promise((done) => setImmediate(() => done(handOn()))))
  }
}
