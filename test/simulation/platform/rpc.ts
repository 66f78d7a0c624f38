/**
 * Calls between contexts: of methods of Durable Objects, and of functions that were passed with such a call.
 *
 * @see https://developers.cloudflare.com/workers/runtime-apis/rpc/
 */
import { type Context, currentContext } from './context.ts'
import { connectionLost, type Network } from './network.ts'
import { remoteBody } from './remote-body.ts'

export type Invoke = (...args: unknown[]) => unknown

/** Runs the call in its callee, or fails if there is none. */
export type Reach = (run: (callee: Context, target: Invoke) => void, fail: (problem: unknown) => void) => void

/**
 * Calls a function of another context. A call whose caller is lost may arrive or not, and so may the result of a callee that is lost.
 *
 * @param transmit delivers the call, in the order of the calls of one stub. Default: any order
 */
export function callRemote(
  network: Network,
  label: string,
  args: readonly unknown[],
  reach: Reach,
  transmit?: (deliver: () => void) => void,
): Promise<unknown> {
  const { loop, random, calls } = network
  const caller = currentContext()
  const sent = args.map((arg) => transferred(network, arg, caller, caller))
  return caller.wait((resolve, reject) => {
    let isSettled = false
    const settle = (what: string, delayMs: number, act: () => void) =>
      loop.after(
        delayMs,
        `${what} ${label} > ${caller.label}`,
        () => {
          if (isSettled) return
          isSettled = true
          calls.delete(sever)
          act()
        },
        caller,
      )
    const fail = (problem: unknown) => settle('lost', network.latency(), () => reject(problem))
    const sever = () => fail(connectionLost())
    calls.add(sever)
    const run = (callee: Context, target: Invoke) => {
      let hasAnswered = false
      const onLost = () => {
        if (hasAnswered && !random.chance(0.5)) return
        settle('lost', network.latency() / 4, () => reject(connectionLost()))
      }
      callee.onLost.add(onLost)
      callee.pending += 1
      const answer = (what: string, act: () => void) => {
        callee.pending -= 1
        callee.send(() => {
          hasAnswered = true
          settle(what, network.latency(), () => {
            callee.onLost.delete(onLost)
            act()
          })
        })
      }
      const called = async () => target(...sent)
      called().then(
        (value) => {
          const copy = transferred(network, value, callee, caller)
          answer('result', () => resolve(copy))
        },
        (problem) => answer('error', () => reject(transferredError(problem))),
      )
    }
    const deliver = () => {
      if (caller.isLost && random.chance(0.5)) return
      reach(run, fail)
    }
    const send = transmit ?? ((act) => void loop.after(network.latency(), `call ${label} < ${caller.label}`, act))
    caller.send(() => send(deliver))
  })
}

/**
 * Returns a value as it arrives: a copy, with stubs in the place of functions.
 *
 * @param owner the context that sends it
 * @param receiver the context that gets the result of a call. Streams are not sent with calls
 */
function transferred(network: Network, value: unknown, owner: Context, receiver: Context): unknown {
  if (typeof value === 'function') return stubOf(network, value as Invoke, owner)
  if (value instanceof ReadableStream) return remoteBody(network, value, owner, receiver)
  if (value instanceof Response || value instanceof Request || typeof value !== 'object' || value === null) return value
  if (!isByReference(value)) return structuredClone(value)
  if (Array.isArray(value)) return value.map((item) => transferred(network, item, owner, receiver))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, transferred(network, item, owner, receiver)]),
  )
}

function stubOf(network: Network, target: Invoke, owner: Context): Invoke {
  const label = `${owner.label}.(function)`
  const reach: Reach = (run, fail) => {
    const lose = () => fail(connectionLost())
    if (owner.isLost) return lose()
    // A call that waits for an object that is busy is lost with it.
    owner.onLost.add(lose)
    owner.enter(() => {
      owner.onLost.delete(lose)
      run(owner, target)
    })
  }
  const stub = (...args: unknown[]) => callRemote(network, label, args, reach)
  return Object.assign(stub, { [Symbol.dispose]() {} })
}

const isPlain = (value: object): boolean =>
  Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null

/** Whether a value is, or has, a function or a stream. */
function isByReference(value: unknown): boolean {
  if (typeof value === 'function' || value instanceof ReadableStream) return true
  return typeof value === 'object' && value !== null && isPlain(value) && Object.values(value).some(isByReference)
}

function transferredError(problem: unknown): unknown {
  if (!(problem instanceof Error)) return problem
  const { name, message } = problem
  return Object.assign(new Error(message), { name, remote: true })
}
