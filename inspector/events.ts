/** The events that this page subscribes to, with a callback URL of the server, and what the server delivers. In development only. */
import { isSigned, newSecret, type Webhook } from '../worker/client/webhook.ts'
import type { JsonSchema, Params } from '../worker/protocol/types.ts'
import { button, fill, make, newId } from './element.ts'
import { fetchInternals } from './internals.ts'
import { parsed, tree } from './json.ts'
import { save, saved } from './saved.ts'

/** An entry of `events/list`. */
export type EventItem = {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema: JsonSchema
  readonly delivery: readonly string[]
}

/** A subscription of this page, for the caller with this token. Times are milliseconds since 1970. */
type OwnSubscription = {
  readonly id: string
  readonly name: string
  readonly args: Params
  readonly token: string | undefined
  readonly refreshBefore: number
  refreshAt: number
}

type Received = Webhook & { key: string; at: string; answer: number | string }
type Attempt = { id: string; event: string; outcome: number | string; durationMs: number; at: string }
type ReceiverReport = { answer: number | string; received: Received[] }
type Subscription = { id: string; event: string; url: string; state: string; refreshBefore: string }
type DeadLetter = { id: string; reason: string; at: string }
type EventsReport = { subscriptions: Subscription[]; attempts: Attempt[]; deadLetters: DeadLetter[] }

/** The connection of the page. `run` shows a call, and returns its result; `undefined` if it fails. */
export type EventsClient = {
  readonly token: string | undefined
  run(title: string, method: string, params: Params): Promise<Params | undefined>
}

export interface EventsPanel {
  readonly element: HTMLElement
  subscribe(name: string, args: Params): Promise<void>
  refresh(): Promise<void>
}

const answers: readonly [value: string, label: string][] = [
  ['204', '204: delivered'],
  ['401', '401: five in a row suspend'],
  ['410', '410: a dead letter'],
  ['413', '413: a dead letter'],
  ['503', '503: sent again'],
  ['none', 'nothing'],
]
const maxShown = 50
/** Milliseconds between two looks for subscriptions that end soon. */
const pauseMs = 1000
/** Milliseconds before the end of a subscription at which it is refreshed. */
const marginMs = 5 * 60_000
const [ownName, secretName] = ['subscriptions to events', 'secret of the receiver']

/** @param client returns the current connection; `undefined`: there is none */
export function eventsPanel(client: () => EventsClient | undefined): EventsPanel {
  const url = new URL('/?inside=receiver', location.href).href
  const secret = String(saved(secretName) ?? newSecret())
  save(secretName, secret)
  const stored = saved(ownName)
  let own: readonly OwnSubscription[] = Array.isArray(stored) ? stored : []
  /** Key of the last webhook that is shown. */
  let lastKey = ''
  /** The answer that the select has from the server. */
  let shownAnswer = ''
  /** Changes of the developer that are not shown yet. */
  let changes = 0
  let current = Promise.resolve()
  /** A refresh that has not begun. */
  let next: Promise<void> | undefined

  const heading = make('h2', { tabIndex: -1 }, 'Events')
  const problem = make('p', { class: 'bad', role: 'alert' })
  const select: HTMLSelectElement = make(
    'select',
    { id: newId(), onchange: () => change(`answer=${select.value}`) },
    answers.map(([value, label]) => make('option', { value }, label)),
  )
  const [subscriptions, received, attempted, dead] = [listOf(), listOf(), listOf(), listOf()]
  const element = make(
    'section',
    { class: 'events', 'aria-label': 'Events', hidden: true },
    make('div', { class: 'bar' }, heading, button('Refresh', refresh, { 'aria-label': 'Refresh events' })),
    problem,
    make('h3', {}, 'Subscriptions'),
    subscriptions,
    make('h3', {}, 'Received here'),
    make('div', { class: 'bar' }, make('label', { for: select.id }, 'Answer'), select),
    received,
    make('h3', {}, 'Attempts of the server'),
    attempted,
    make('h3', {}, 'Dead letters'),
    dead,
  )
  setInterval(refreshOwn, pauseMs)
  return { element, subscribe, refresh }

  /** Refreshes the subscriptions that end soon. One that fails is not tried again. */
  function refreshOwn(): void {
    const [now, subscriber] = [Date.now(), client()]
    for (const one of own) {
      if (!subscriber || !isOfCaller(one) || now < one.refreshAt || now >= one.refreshBefore) continue
      one.refreshAt = one.refreshBefore
      void subscribe(one.name, one.args)
    }
  }

  async function subscribe(name: string, args: Params): Promise<void> {
    const subscriber = client()
    const params = { name, arguments: args, delivery: { mode: 'webhook', url, secret } }
    const result = await subscriber?.run(`Subscribe to ${name}`, 'events/subscribe', params)
    if (!result) return
    const id = String(result.id)
    const refreshBefore = Date.parse(String(result.refreshBefore))
    const refreshAt = refreshBefore - Math.min(marginMs, (refreshBefore - Date.now()) / 2)
    saveOwn([...without(id), { id, name, args, token: subscriber?.token, refreshBefore, refreshAt }])
    await refresh()
  }

  async function unsubscribe({ id, name, args }: OwnSubscription): Promise<void> {
    const params = { name, arguments: args, delivery: { mode: 'webhook', url } }
    if (!(await client()?.run(`Unsubscribe from ${name}`, 'events/unsubscribe', params))) return
    await removeOwn(id)
  }

  async function removeOwn(id: string): Promise<void> {
    saveOwn(without(id))
    await refresh()
  }

  function isOfCaller({ token }: OwnSubscription): boolean {
    return token === client()?.token
  }

  function without(id: string): OwnSubscription[] {
    return own.filter((one) => one.id !== id)
  }

  function saveOwn(changed: readonly OwnSubscription[]): void {
    own = changed
    save(ownName, own)
  }

  /** @param query selects the answer, or sends dead letters again */
  async function change(query: string): Promise<void> {
    changes++
    await fetchInternals(`?inside=events&${query}`, { method: 'POST' }).then(refresh, showProblem)
    changes--
    shownAnswer = ''
  }

  function refresh(): Promise<void> {
    next ??= current.then(show).catch(showProblem)
    current = next
    return next
  }

  function showProblem({ message }: Error): void {
    fill(problem, message)
  }

  async function show(): Promise<void> {
    next = undefined
    if (element.hidden || !client()) return
    const { answer, received: latest } = await fetchInternals<ReceiverReport>(`?inside=receiver&after=${lastKey}`)
    const report = await fetchInternals<EventsReport>('?inside=events')
    fill(problem)
    // An open list loses its choice when the value is set.
    if (changes === 0 && shownAnswer !== String(answer)) select.value = shownAnswer = String(answer)
    for (const webhook of latest) {
      lastKey = webhook.key
      received.prepend(webhookRow(webhook, await isSigned(webhook, secret)))
    }
    while (received.childElementCount > maxShown) received.lastElementChild?.remove()
    const focused = document.activeElement
    fill(subscriptions, subscriptionRows(report.subscriptions))
    fill(attempted, report.attempts.toReversed().map(attemptRow))
    fill(dead, report.deadLetters.toReversed().map(deadLetterRow))
    if (!focused || focused.isConnected) return
    const same = [...element.querySelectorAll('button')].find(({ ariaLabel }) => ariaLabel === focused.ariaLabel)
    ;(same ?? heading).focus({ preventScroll: true })
  }

  function subscriptionRows(active: readonly Subscription[]): HTMLElement[] {
    const ownRows = own.map((one) => {
      const found = active.find(({ id }) => id === one.id)
      return ownRow(one, found)
    })
    const others = active.filter(({ id }) => !own.some((one) => one.id === id))
    return [...ownRows, ...others.map((one) => row(one.event, wordsOf(one), make('code', {}, one.url)))]
  }

  function ownRow(one: OwnSubscription, found: Subscription | undefined): HTMLElement {
    const { id, name, args } = one
    const text = JSON.stringify(args)
    // The page may connect as another user before the button is clicked.
    const labeled = (label: string, act: () => unknown, isOffered = () => isOfCaller(one)) =>
      isOffered() &&
      button(label, () => (isOffered() ? act() : refresh()), {
        class: 'quiet',
        'aria-label': `${label} ${name} ${text}`,
      })
    return row(
      name,
      found ? wordsOf(found) : 'ended',
      make('code', {}, text),
      make(
        'div',
        { class: 'bar' },
        !isOfCaller(one) && make('small', {}, 'of another user'),
        labeled('Refresh', () => subscribe(name, args)),
        found && labeled('Unsubscribe', () => unsubscribe(one)),
        !found &&
          labeled(
            'Remove',
            () => removeOwn(id),
            () => true,
          ),
      ),
    )
  }

  function deadLetterRow({ id, reason, at }: DeadLetter): HTMLElement {
    const again = () => change(`id=${encodeURIComponent(id)}`)
    return row(
      reason,
      timeOf(at),
      make('code', {}, id),
      make('div', { class: 'bar' }, button('Send again', again, { class: 'quiet', 'aria-label': `Send ${id} again` })),
    )
  }
}

const listOf = () => make('ol', { class: 'entries' })

function webhookRow({ at, text, answer }: Received, isValid: boolean): HTMLElement {
  const value = parsed(text) ?? text
  const { name, type } = Object(value)
  const event = [name, type].find((each) => typeof each === 'string') ?? 'no event'
  const words = `${timeOf(at)}, answered with ${answer === 'none' ? 'nothing' : answer}, `
  const signature = isValid
    ? make('span', { class: 'kind' }, 'signature valid')
    : make('span', { class: 'bad' }, 'signature does not match')
  return row(event, words, signature, treeOrText(value, text))
}

/** A value that nests too deeply for a tree is shown as text. */
function treeOrText(value: unknown, text: string): HTMLElement {
  try {
    return tree(value, undefined, 0)
  } catch {
    return make('code', {}, text)
  }
}

const wordsOf = ({ state, refreshBefore }: Subscription): string =>
  `${state}, refresh before ${new Date(refreshBefore).toLocaleString()}`

const attemptRow = ({ event, outcome, durationMs, at }: Attempt): HTMLElement =>
  row(event, `${timeOf(at)}, ${outcome}, ${durationMs} ms`)

const row = (name: string, words: string, ...details: Node[]): HTMLElement =>
  make('li', {}, make('b', {}, name), ' ', make('small', {}, words), ' ', details)

const timeOf = (at: string): string => new Date(at).toLocaleTimeString()
