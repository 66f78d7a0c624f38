/** What is behind `server`, and no client sees: names of the objects of tasks, what they keep, their time, and what was tried. */
import { parseKeyRing, sealer, sealerFor } from '../../worker/sealing/seal.ts'
import { type Json, TaskClient, textIn } from './client.ts'

/** The keys of the server, so that ids can be opened here. */
export const ring = `test:${Buffer.alloc(32, 7).toString('base64url')}`
export const hour = 3_600_000

export const key = () => crypto.randomUUID()
export const named = (name: string) => ({ action: 'accept', content: { name } })

/** Of the server in `server/`. */
const identity = JSON.stringify(['tasks', '/mcp'])

const nameIn = (task: unknown): string => (task as { name: string }).name

/** @param purpose that the ids of its tasks are sealed for */
export function behind(server: () => { readonly url: URL }, purpose: string) {
  const nameOf = async (taskId: string, principal?: { issuer: string; subject: string }) =>
    nameIn(
      await sealerFor(sealer(parseKeyRing(ring)), identity).open(
        purpose,
        principal && { ...principal, scopes: [], claims: {} },
        taskId,
      ),
    )
  const admin = async (path: string): Promise<Json> => {
    const response = await fetch(new URL(path, server().url))
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as Json
  }
  return {
    nameOf,
    /** Time passes: for one task, or for whoever lists them. */
    later: async (by: number, taskId?: string) =>
      admin(`/later?by=${by}${taskId ? `&name=${await nameOf(taskId)}` : ''}`),
    /** Milliseconds until its object is woken; 0: never. */
    untilAlarm: async (taskId: string) => (await admin(`/until-alarm?name=${await nameOf(taskId)}`)).ms as number,
    /** Whether tasks hold their questions. Releases those of a task. Returns how many were held. */
    holdQuestions: async (on: boolean, taskId?: string) =>
      (await admin(`/hold-questions?on=${on}${taskId ? `&name=${await nameOf(taskId)}` : ''}`)).held,
    /** Whether the storage refuses to list a task. */
    refuseLists: async (on: boolean) => admin(`/refuse-lists?on=${on}`),
    left: async (taskId: string) => admin(`/left?name=${await nameOf(taskId)}`),
    tried: async (key: string) => textIn(await new TaskClient(server().url).call('tried', { key })),
  }
}
