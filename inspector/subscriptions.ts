/** The change notifications that this page subscribes to: lists, resources and tasks. */
import type { SubscriptionFilter } from '../worker/protocol/types.ts'
import type { Subscription, TestClient } from '../worker/testing/index.ts'

type Filter = SubscriptionFilter & { taskIds?: string[] }

export interface Subscriptions {
  readonly uris: ReadonlySet<string>
  subscribe(uri: string): Promise<void>
  unsubscribe(uri: string): Promise<void>
  /** Subscribes to the status of a task, if the server sends it. */
  follow(taskId: string): Promise<void>
  unfollow(taskId: string): Promise<void>
}

/**
 * @param lists the lists whose changes the server announces
 * @param isStateless one stream has all subscriptions; otherwise the session has a standing stream, and subscribes by request
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

  /** Opens a stream with all subscriptions, then closes the one before it, so that no notification is missed. */
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
