/** Subscriptions, attempts and dead letters of events, for `edgemcp events` and the inspector. */
import type { EventsHost, EventWork } from '../../../durable-objects/events/events-host.ts'
import { developerNews, developerTools } from '../../engine/developer-tools.ts'
import { receive, receivedSince, selectAnswer } from './receive.ts'

/** A delivery that was attempted, or that failed before. */
type Attempt = {
  /** Id of the event. */
  readonly id: unknown
  readonly event: string
  readonly subscription: unknown
  /** `delivered`, the status of another response, or why there was none. */
  readonly outcome: number | string
  readonly durationMs: number
  /** ISO 8601. */
  readonly at: string
}

/** The endpoints of this Worker, each with the names of its events. */
const endpoints: { readonly events: readonly string[]; readonly host: EventsHost }[] = []
/** The latest one is the last. */
const attempts: Attempt[] = []
const maxAttempts = 50

/** Returns a host that records attempts, and from which `edgemcp events` reads. */
export function inspected(events: Iterable<string>, host: EventsHost): EventsHost {
  const recording = {
    ...host,
    observe(work: EventWork) {
      host.observe(work)
      if (work.method !== 'events/deliver') return
      developerNews.count++
      attempts.push(attemptOf(work))
      attempts.splice(0, attempts.length - maxAttempts)
    },
  }
  endpoints.push({ events: [...events], host: recording })
  developerTools.set('events', answer).set('receiver', receiver)
  return recording
}

const attemptOf = ({ name, since, error, details: { event: id, subscription } }: EventWork): Attempt => ({
  id,
  event: name,
  subscription,
  outcome: error ? error.code || error.kind : 'delivered',
  durationMs: Date.now() - since,
  at: new Date(since).toISOString(),
})

/** Answers a POST as a callback URL; otherwise returns the webhooks `after` one. */
const receiver = async (request: Request): Promise<object> =>
  request.method === 'POST' ? receive(request) : receivedSince(new URL(request.url).searchParams.get('after'))

/** Answers a POST with `id` by sending the dead letters of this event again, and one with `answer` by selecting that of the receiver. */
async function answer({ method, url }: Request): Promise<object> {
  const { searchParams } = new URL(url)
  const selected = searchParams.get('answer')
  if (method === 'POST' && selected !== null) {
    selectAnswer(selected)
    return {}
  }
  const owners = await ownersOfAll()
  if (method === 'POST') {
    const ids = searchParams.getAll('id')
    const counts = await Promise.all(owners.map((owner) => owner.redeliver(undefined, ids)))
    return { redelivered: counts.reduce((sum, count) => sum + count, 0) }
  }
  const subscriptions = await Promise.all(owners.map((owner) => owner.subscriptions()))
  const deadLetters = await Promise.all(owners.map((owner) => owner.deadLetters()))
  return { subscriptions: subscriptions.flat(), attempts, deadLetters: deadLetters.flat() }
}

/** The objects of users, whose names may be the same in several endpoints. */
async function ownersOfAll() {
  const owners = await Promise.all(
    endpoints.map(async ({ events, host }) => {
      const names = await Promise.all(events.map((event) => host.index(event).owners({ everyone: true })))
      return [...new Set(names.flat())].map((name) => host.owner(name))
    }),
  )
  return owners.flat()
}
