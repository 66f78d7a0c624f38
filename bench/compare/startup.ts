/** The CPU time of a whole `workerd serve`, from its start to its first response. */
import { join } from 'node:path'
import { Folder } from '../folder.ts'
import { prepare, startTimed, type Worker } from '../workerd.ts'
import { Client } from './client.ts'
import { entryOf, type Participant } from './participants.ts'
import type { Scenario } from './scenarios.ts'

/** Milliseconds of CPU, by start. */
export type Startup = { readonly server: string; readonly cpu: readonly number[] }

const empty: Worker = { entry: 'servers/empty.ts', objects: [], compatibilityFlags: [] }
export const emptyName = 'an empty Worker'

/** Accepts any response. */
const anything = async (url: URL) => void (await (await fetch(url)).text())

/**
 * @param first the first scenario, whose request is sent
 * @param times how often each is started, in turns
 * @param parts other Workers that are started
 * @param isEnough is asked after each turn. `true` ends the measurement. Default: each is started `times` times
 */
export async function startups(
  participants: readonly Participant[],
  first: Scenario,
  times: number,
  parts: readonly { readonly name: string; readonly worker: Worker }[],
  isEnough: (started: readonly Startup[]) => boolean = () => false,
): Promise<Startup[]> {
  using folder = new Folder()
  const rows = [
    { server: emptyName, worker: empty, ask: anything },
    ...participants.flatMap((participant) => {
      const entry = entryOf(participant, 'stateless')
      if (!entry) return []
      const ask = async (url: URL) => {
        const client = new Client(url, entry.way)
        await first.run(client, 0).finally(() => client.close())
      }
      return [{ server: participant.name, worker: entry.worker, ask }]
    }),
    ...parts.map(({ name, worker }) => ({ server: name, worker, ask: anything })),
  ].map((row, index) => ({ ...row, folder: join(folder.path, `${index}`), cpu: [] as number[] }))
  for (const row of rows) await prepare(row.worker, row.folder)
  // The first start of each server loads files from the disk, and later ones load them from memory.
  for (let time = -1; time < times && !(time > 0 && isEnough(rows)); time += 1) {
    for (const row of rows) {
      const spent = await startTimed(row.folder, row.ask)
      if (time >= 0) row.cpu.push(spent)
    }
  }
  return rows.map(({ server, cpu }) => ({ server, cpu }))
}
