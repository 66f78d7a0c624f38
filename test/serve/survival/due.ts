/** What must come of a conversation, word for word. */
import type { Shape } from './conversation.ts'
import type { Happening, Seen } from './play.ts'

/** How a client talks. */
export type Kind = {
  revision: string
  way: string
  single?: boolean
  /** Characters that each journal carries. */
  luggage?: number
  /** It has a session. */
  session?: Session
}
export type Session = { capabilities: object; overSse?: boolean; leaves?: boolean }

export type Row = { kind: Kind; shape: Shape }

export type Column = Happening & {
  header: readonly [string, string]
  /** Connections are lost with it. */
  cuts?: boolean
  /** Which version of the code runs each round. */
  versions?: readonly [number, number, number]
  /** Milliseconds that pass each time. */
  passes?: number
}

export const lost = 'its stream is lost'
export const refused = 'error -32602: params.requestState is not valid for this request: send the request without it'
export const timeout = 'error -32603, timeout: Timed out waiting for input'
export const gone = 'error -32600: Session not found: send initialize again'

export function due(row: Row, column: Column): Seen {
  const { session, single } = row.kind
  if (!session) {
    const again = column.after.map((answered) => (single && answered > 0 ? true : undefined))
    return {
      ...(column.late ? lateWithoutSession(row, column) : whole(row, column)),
      returns: 0,
      again: column.late ? [] : again,
    }
  }
  const seen = inSession(row, column, session)
  const heard = session.overSse ? ['welcomes', ...seen.heard] : seen.heard
  let event = 0
  const numbered = heard.map((line) => {
    if (line.startsWith('is answered')) return line
    event += 1
    return `${session.overSse ? 0 : 1}.${event} ${line}`
  })
  return { ...seen, heard: numbered }
}

type Told = Omit<Seen, 'returns' | 'again'>

/** What is said before the first answer, between both, and after the last one. */
function said({ shape, kind }: Row): [string[], string[], string[]] {
  if (shape === 'at once') {
    const first = ['says Welcome', 'asks Where to?', 'asks Which day?']
    // Who has no session has to be asked again for what is still open.
    return [first, kind.session ? [] : ['asks Which day?'], ['says Oslo and Monday it is', 'ends']]
  }
  return [
    ['says Welcome', 'asks Where to?'],
    ['says Oslo it is', 'asks Ticket 1 to Oslo. Which seat?'],
    ['says 7A it is', 'ends'],
  ]
}

function whole(row: Row, { versions: [begun, second, ended] = [1, 1, 1] }: Column): Told {
  const isOneByOne = row.shape === 'one by one'
  const [choice, sold] = isOneByOne ? ['7A', second] : ['Monday', ended]
  return {
    heard: said(row).flat().filter(isHeard(row)),
    end: `Oslo, ${choice}, ticket 1; begun by ${begun}, sold by ${sold}, ended by ${ended}`,
    runs: runsOf(row, 2),
    payments: 1,
  }
}

function lateWithoutSession(row: Row, column: Column): Told {
  const { heard, ...told } = upTo(row, answeredIn(column))
  return { ...told, heard: [...heard, 'ends'], end: refused }
}

function inSession(row: Row, column: Column, session: Session): Seen {
  const { overSse = false, leaves = false } = session
  const isOneByOne = row.shape === 'one by one'
  const answered = answeredIn(column)
  if (column.late) {
    const { heard, ...told } = upTo(row, answered)
    const late = { ...told, again: [], returns: leaves ? 1 : 0 }
    const open = isOneByOne ? 1 : 2 - answered
    return { ...late, heard: [...heard, ...Array<string>(open).fill('withdraws'), 'ends'], end: timeout }
  }
  // An hour after its end, a stream cannot be resumed any more.
  const isResumed = (column.passes ?? 0) < 60 * 60_000
  const again = column.after.map((answered) => (answered === 2 && !overSse ? isResumed : undefined))
  if (overSse && column.cuts) {
    // What is answered is done all the same, and nobody hears of it.
    return { heard: upTo(row, 0).heard, end: lost, returns: 0, again, runs: 2, payments: 1 }
  }
  // Whoever answers one of two questions has no reason yet to listen.
  const returns = leaves || (column.cuts && !overSse) ? (isOneByOne ? 2 : 1) : 0
  return { ...whole(row, column), returns, again }
}

/** What came of the first answers. */
function upTo(row: Row, answered: number): Omit<Told, 'end'> {
  return {
    heard: said(row)
      .slice(0, answered + 1)
      .flat()
      .filter(isHeard(row)),
    runs: runsOf(row, answered),
    payments: row.shape === 'one by one' && answered > 0 ? 1 : 0,
  }
}

/** The handler is run from the top when everything that was asked has its answer; without a session, for each answer. */
const runsOf = ({ kind, shape }: Row, answered: number) =>
  kind.session && shape === 'at once' ? 1 + Math.floor(answered / 2) : 1 + answered

/** Log lines are for sessions: nobody else has asked for them. */
const isHeard =
  ({ kind }: Row) =>
  (line: string) =>
    kind.session !== undefined || !line.startsWith('says')

const answeredIn = ({ after }: Column) => Math.max(...after)
