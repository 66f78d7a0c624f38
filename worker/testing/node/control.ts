import { unstable_readConfig, type WorkerHandle } from 'wrangler'
import { parseKeyRing } from '../../sealing/seal.ts'
import { objectOf, type ServerUnderTest } from '../objects.ts'
import { type Advance, advancePath } from '../timed/advance.ts'
import { evict } from './evict.ts'

/** What a server is controlled through. */
export type Controlled = { getWorker(): Pick<WorkerHandle, 'evictDurableObject' | 'listDurableObjectIds'> }

/** Where a server was started from: its wrangler configuration, and its keys. */
export type Origin = { readonly config: string; readonly env: string | undefined; readonly ring: string }

/** Controls the memory and the clock of the server at `url`. */
export function control(harness: Controlled, url: URL, { config, env, ring }: Origin): ServerUnderTest {
  async function stored(): Promise<Advance['objects']> {
    const { migrations } = unstable_readConfig({ config, env }, { hideWarnings: true })
    const lists = classesOf(migrations).map(async (name) => {
      const ids = await harness.getWorker().listDurableObjectIds(name)
      return ids.map((id) => ({ class: name, id }))
    })
    return (await Promise.all(lists)).flat()
  }

  return {
    async evict(kept, { class: className, webSockets = 'hibernate' } = {}) {
      if (!kept) {
        await Promise.all((await stored()).map(({ class: name, id }) => evict(harness, name, { id }, webSockets)))
        return
      }
      const { class: name, ...which } = await objectOf(kept, parseKeyRing(ring), className)
      await evict(harness, name, which, webSockets)
    },
    async advance(milliseconds) {
      const body = JSON.stringify({ milliseconds, objects: await stored() } satisfies Advance)
      const response = await fetch(new URL(advancePath, url), { method: 'POST', body })
      // As withTestClock answers.
      const { problem } = response.ok ? ((await response.json()) as { problem?: string }) : { problem: withoutClock }
      if (problem) throw new Error(problem)
    },
  }
}

const withoutClock =
  'This Worker has the clock of the environment. To advance it, test a Worker whose main module exports withTestClock(main) of edgemcp/testing/timed, or run the test inside workerd, with edgemcp/testing/workers'

type Migrations = ReturnType<typeof unstable_readConfig>['migrations']

/** Returns the names of the Durable Object classes after all migrations. */
function classesOf(migrations: Migrations): string[] {
  const names = new Set<string>()
  for (const { new_classes, new_sqlite_classes, renamed_classes, deleted_classes } of migrations) {
    for (const name of [...(new_classes ?? []), ...(new_sqlite_classes ?? [])]) names.add(name)
    for (const { from, to } of renamed_classes ?? []) {
      names.delete(from)
      names.add(to)
    }
    for (const name of deleted_classes ?? []) names.delete(name)
  }
  return [...names]
}
