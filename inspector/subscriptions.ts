/** What this page hears of without asking: changes of lists, updates of resources, tasks. */
import type { SubscriptionFilter } from '../worker/protocol/types.ts'
import type { Subscription, TestClient } from '../worker/testing/index.ts'

type Filter = SubscriptionFilter & { taskIds?: string[] }

export interface Subscriptions {
  readonly uris: ReadonlySet<string>
  subscribe(uri: string): Promise<void>
  unsubscribe(uri: string): Promise<void>
  /** Hears of a task, on a server that tells of tasks. */
  follow(taskId: string): Promise<void>
  unfollow(taskId: string): Promise<void>
}

/**
 * @param lists which lists the server tells changes of
 * @param isStateless one stream is asked for with everything; otherwise a session has its own stream, and is told what to say there
 */
export async function openSubscriptions(
  client: TestClient,
  lists: SubscriptionFilter,
  isStateless: boolean,
): Promise<Subscriptions> {
  const uris = new Set<string>()
  const taskIds = new Set<string>()
  let subscription: Subscription | undefined
  if (!isStateless) subscription = await client.subscribe({})
  else if (Object.values(lists).some((isTold) => isTold)) await listen()

  /** A stream with all that is wanted now, and then an end of the one before it: nothing is missed between them. */
  async function listen(): Promise<void> {
    const before = subscription
    const filter: Filter = {
      ...lists,
      ...(uris.size > 0 && { resourceSubscriptions: [...uris] }),
      ...(taskIds.size > 0 && { taskIds: [...taskIds] }),
    }
    subscription = await client.subscribe(filter)
    await before?.close()
  }

  async function change(method: string, uri: string): Promise<void> {
    if (isStateless) await listen()
    else await client.request(method, { uri })
  }

  return {
    uris,
    async subscribe(uri) {
      uris.add(uri)
      await change('resources/subscribe', uri).catch((problem) => {
        uris.delete(uri)
        throw problem
      })
    },
    async unsubscribe(uri) {
      uris.delete(uri)
      await change('resources/unsubscribe', uri)
    },
    async follow(taskId) {
      taskIds.add(taskId)
      await listen().catch((problem) => {
        taskIds.delete(taskId)
        throw problem
      })
    },
    async unfollow(taskId) {
      if (taskIds.delete(taskId)) await listen()
    },
  }
}
