/** Subscriptions, attempts and dead letters of events, for `edgemcp events`. */
import type { Attempt, EventsHost } from '../../../durable-objects/events/events-host.ts'
import { type DeveloperRequest, developerTools } from '../../engine/developer-tools.ts'

/** The endpoints of this Worker by the names of their events. */
const hosts = new Map<string, EventsHost>()
/** The latest one is the last. */
const attempts: Attempt[] = []
const maxAttempts = 50

/** Returns a host that records attempts, and from which `edgemcp events` reads. */
export function inspected(events: Iterable<string>, host: EventsHost): EventsHost {
  const recording = {
    ...host,
    onAttempt(attempt: Attempt) {
      attempts.push(attempt)
      attempts.splice(0, attempts.length - maxAttempts)
    },
  }
  for (const event of events) hosts.set(event, recording)
  developerTools.set('events', answer)
  return recording
}

/** Answers a POST with `id` by sending the dead letters of this event again. */
async function answer({ method, url }: DeveloperRequest): Promise<object> {
  const owners = await ownersOfAll()
  if (method === 'POST') {
    const ids = new URL(url).searchParams.getAll('id')
    const counts = await Promise.all(owners.map((owner) => owner.redeliver(undefined, ids)))
    return { redelivered: counts.reduce((sum, count) => sum + count, 0) }
  }
  const subscriptions = await Promise.all(owners.map((owner) => owner.subscriptions()))
  const deadLetters = await Promise.all(owners.map((owner) => owner.deadLetters()))
  return { subscriptions: subscriptions.flat(), attempts, deadLetters: deadLetters.flat() }
}

async function ownersOfAll() {
  const named = await Promise.all(
    [...hosts].map(async ([event, host]) => {
      const names = await host.index(event).owners({ everyone: true })
      return names.map((name) => [name, host] as const)
    }),
  )
  return [...new Map(named.flat())].map(([name, host]) => host.owner(name))
}
