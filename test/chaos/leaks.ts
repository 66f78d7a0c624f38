import { abandon, dropListeners, settled } from './leaky/abandon.ts'
import { refuse } from './leaky/refuse.ts'
import { startLeaky } from './leaky/server.ts'
import { vanish } from './leaky/vanish.ts'

const sessions = 2000
const refusals = 1000
/** Milliseconds: short, but longer than a busy machine lets a client wait between two of its requests. */
const ttl = 10_000

/** Nothing outlives its client: no row, no socket and no alarm of sessions that were left, no stream of one that vanished. */
export async function leaks(): Promise<string> {
  await using server = await startLeaky({ limits: { keepAliveMs: 100 }, sessions: { ttl } })
  await refuse(server, refusals)
  const abandoned = await abandon(server, sessions)
  await dropListeners(server, 50)
  const left = Date.now()
  await settled(server, abandoned, left + 120_000)
  const seconds = Math.round((Date.now() - left) / 1000)

  await using patient = await startLeaky({ limits: { keepAliveMs: 1000 } })
  const noticed = await vanish(patient)
  for (const { where, how, keepAlives } of noticed) {
    if (keepAlives > 2) throw new Error(`${where}: a client gone by ${how} was noticed after ${keepAlives} keep-alives`)
  }
  const longest = noticed.reduce((one, other) => (other.milliseconds > one.milliseconds ? other : one))
  return (
    `${refusals} refusals were taken; of ${sessions} abandoned sessions nothing was left after ${seconds} s but the marks ` +
    `of those that must know; ${noticed.length} vanished clients were noticed, the last by ${longest.how} on ` +
    `${longest.where.replace(/^an? /, 'its ')} after ${longest.keepAlives} keep-alives of 1000 ms`
  )
}
