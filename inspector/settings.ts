/** The settings of the connection: protocol version, caller and client capabilities. */
import { revisions } from '../worker/protocol/revisions/index.ts'
import { type ClientCapabilities, type LogLevel, logLevels } from '../worker/protocol/types.ts'
import { type Caller, callerFields } from './caller.ts'
import { button, make, newId } from './element.ts'
import { saveControls } from './saved.ts'
import { tasksExtension } from './tasks.ts'

export type Chosen = {
  readonly revision: string
  readonly isStateless: boolean
  /** Uses the HTTP+SSE transport. */
  readonly sse: boolean
  readonly caller: Caller
  readonly logLevel: LogLevel | undefined
  readonly capabilities: ClientCapabilities
}

export interface Settings {
  readonly element: HTMLElement
  readonly status: HTMLElement
  /** @throws Error for settings that cannot be sent */
  read(): Chosen
  /** Shows the state of the connection. */
  setStatus(state: 'connecting' | 'connected' | 'failed' | 'closed', words: string): void
}

const oldest = revisions.at(-1)

const abilities: readonly [name: string, capabilities: ClientCapabilities][] = [
  ['Forms', { elicitation: { form: {} } }],
  ['URLs', { elicitation: { url: {} } }],
  ['Sampling', { sampling: {} }],
  ['Sampling with tools', { sampling: { tools: {} } }],
  ['Roots', { roots: {} }],
  ['Tasks', { extensions: { [tasksExtension]: {} } }],
]

/**
 * @param hasSse whether the server supports HTTP+SSE
 * @param mayMakeUp whether the server accepts test users
 */
export function settings(
  { hasSse, mayMakeUp }: { hasSse: boolean; mayMakeUp: boolean },
  connect: () => void,
  disconnect: () => void,
): Settings {
  const revision = make(
    'select',
    { id: newId(), name: 'revision', onchange: connect },
    revisions
      .filter((entry) => entry !== oldest || hasSse)
      .map((entry) =>
        make(
          'option',
          { value: entry.date },
          `${entry.date} ${entry.stateless ? 'stateless' : entry === oldest ? 'HTTP+SSE' : 'session'}`,
        ),
      ),
  )
  const caller = callerFields(mayMakeUp)
  const level = make(
    'select',
    { id: newId(), name: 'level' },
    make('option', { value: '' }, 'none'),
    logLevels.map((name) => make('option', { value: name, selected: name === 'debug' }, name)),
  )
  const boxes = abilities.map(([name, capabilities]) => {
    const input = make('input', { type: 'checkbox', id: newId(), name: `capability ${name}`, checked: true })
    return {
      input,
      capabilities,
      element: make('span', { class: 'check' }, input, make('label', { for: input.id }, name)),
    }
  })
  const status = make('p', { class: 'connection', role: 'status' })
  const onsubmit = (event: Event) => {
    event.preventDefault()
    connect()
  }
  const leave = button('Disconnect', disconnect)
  const element = make(
    'form',
    { class: 'settings', onsubmit, 'aria-label': 'Connection' },
    make('div', { class: 'field' }, make('label', { for: revision.id }, 'Protocol version'), revision),
    caller.token,
    make('div', { class: 'field' }, make('label', { for: level.id }, 'Minimum log level'), level),
    make('div', { class: 'bar' }, make('button', { class: 'primary' }, 'Connect'), leave),
    make(
      'fieldset',
      {},
      make('legend', {}, 'Client capabilities'),
      boxes.map(({ element }) => element),
    ),
    caller.testUser,
  )
  saveControls(element, 'settings')
  return {
    element,
    status,
    read() {
      const entry = revisions.find(({ date }) => date === revision.value)
      return {
        revision: revision.value,
        isStateless: entry?.stateless === true,
        sse: entry === oldest,
        caller: caller.read(),
        logLevel: (level.value || undefined) as LogLevel | undefined,
        capabilities: merged(boxes.filter(({ input }) => input.checked).map(({ capabilities }) => capabilities)),
      }
    },
    setStatus(state, words) {
      status.dataset.state = state
      status.dataset.revision = revision.value
      status.textContent = words
      leave.disabled = state !== 'connected'
    },
  }
}

const merged = (all: readonly ClientCapabilities[]): ClientCapabilities => {
  const entries = all.flatMap((capabilities) => Object.entries(capabilities))
  const names = new Set(entries.map(([name]) => name))
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      Object.assign({}, ...entries.filter((entry) => entry[0] === name).map(([, value]) => value)),
    ]),
  )
}
