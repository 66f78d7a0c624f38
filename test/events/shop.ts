/** The server of `server/`, with receivers outside of it. A token is the JSON of its user. */
import { connect } from '../../worker/testing/index.ts'
import { startServer } from '../support/server.ts'
import { Internet, type Receiver } from './receivers.ts'

export const tokenOf = (user: string | object): string =>
  JSON.stringify(typeof user === 'string' ? { subject: user } : user)

/** The parameters with which a client subscribes to a shop. */
export const wanting = ({ url, secret }: Pick<Receiver, 'url' | 'secret'>, shop: string) => ({
  name: 'order.paid',
  arguments: { shop },
  delivery: { mode: 'webhook', url, secret },
  cursor: null,
})

export async function openShop(secrets: Record<string, string> = {}) {
  const internet = new Internet()
  const server = await startServer('test/events/server', secrets, (request) => internet.answer(request))
  const clientOf = (user: string | object, revision = '2025-11-25') =>
    connect(server.url, { revision, headers: { Authorization: `Bearer ${tokenOf(user)}` } })
  /** Calls a function of an event, as the code of a Worker does. */
  const call = async <T>(path: string, params: object): Promise<T> => {
    const response = await fetch(new URL(path, server.url), { method: 'POST', body: JSON.stringify(params) })
    const answer = await response.json()
    if (response.ok) return answer as T
    throw new Error((answer as { problem: string }).problem)
  }
  const publish = (name: string, payload: object, recipients: object, options: object = {}) =>
    call<string>('/publish', { name, payload, recipients, options })
  return {
    internet,
    server,
    clientOf,
    call,
    publish,
    paid: (shop: string, total = 1) => publish('order.paid', { shop, total }, { everyone: true }),
    /** Opens a client, and subscribes to a shop. */
    async subscribed(user: string | object, receiver: Receiver, shop: string) {
      const client = await clientOf(user)
      // A busy machine may answer the verification too late.
      const subscribe = (): Promise<unknown> =>
        client.request('events/subscribe', wanting(receiver, shop)).catch((problem) => {
          if (problem.data?.reason === 'timeout') return subscribe()
          throw problem
        })
      const { id } = (await subscribe()) as { id: string }
      return { client, id, [Symbol.asyncDispose]: () => client.close() }
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
