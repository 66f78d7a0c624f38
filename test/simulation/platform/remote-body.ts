/** A byte stream that a call returned. Its bytes arrive in their order, cut anywhere, until the stream ends, or one of its ends is lost. */
import type { Context } from './context.ts'
import { connectionLost, type Network } from './network.ts'

/**
 * @param owner the context that has the stream, which it keeps in memory
 * @param receiver the context that gets the copy
 */
export function remoteBody(
  network: Network,
  source: ReadableStream<Uint8Array>,
  owner: Context,
  receiver: Context,
): ReadableStream<Uint8Array> {
  const { loop, random, calls } = network
  const reader = source.getReader()
  let isOver = false
  let lastArrival = 0
  const end = () => {
    if (isOver) return false
    isOver = true
    owner.pending -= 1
    owner.onLost.delete(lose)
    receiver.onLost.delete(leave)
    calls.delete(lose)
    return true
  }
  const arrive = (label: string, at: number, act: () => void) => {
    lastArrival = Math.max(at, lastArrival + 0.001)
    loop.at(lastArrival, `${label} > ${receiver.label}`, () => receiver.enter(act), receiver)
  }
  let controller: ReadableStreamDefaultController<Uint8Array>
  /** Loses the stream: what is on its way arrives first, or is lost. */
  const lose = () => {
    const isLate = random.chance(0.5)
    if (!end()) return
    const fail = () => controller.error(connectionLost())
    if (isLate) arrive(`body ${owner.label} breaks`, loop.now + network.latency(), fail)
    else
      loop.after(
        network.latency() / 4,
        `body ${owner.label} is lost > ${receiver.label}`,
        () => receiver.enter(fail),
        receiver,
      )
    owner.enter(() => void reader.cancel().catch(() => {}))
  }
  /** The receiver reads no more. */
  const leave = () => {
    if (!end()) return
    loop.after(
      network.latency(),
      `body ${owner.label} is left`,
      () => owner.enter(() => void reader.cancel().catch(() => {})),
      owner,
    )
  }
  owner.pending += 1
  owner.onLost.add(lose)
  receiver.onLost.add(leave)
  calls.add(lose)
  const send = (label: string, act: () => void) =>
    owner.send(() =>
      arrive(label, loop.now + network.latency(), () => {
        if (!isOver) act()
      }),
    )
  const pump = async () => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      for (const part of cut(read.value)) send(`bytes ${part.length}`, () => controller.enqueue(part))
    }
    send(`body ${owner.label} ends`, () => {
      if (end()) controller.close()
    })
  }
  const cut = (bytes: Uint8Array): readonly Uint8Array[] => {
    const at = random.chance(0.3) ? random.whole(1, bytes.length) : bytes.length
    return [bytes.slice(0, at), bytes.slice(at)].filter(({ length }) => length > 0)
  }
  const copy = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given
    },
    cancel: leave,
  })
  // A source that was cancelled ends, one that its writer gave up breaks.
  const fail = () =>
    send(`body ${owner.label} is given up`, () => {
      if (end()) controller.error(connectionLost())
    })
  owner.run(() => void pump().catch(fail))
  return Object.assign(copy, { tee: () => branchesOf(copy) })
}

/** As in workerd, both branches have what arrived before the stream broke. The `tee` of the standard discards what was not read. */
function branchesOf(stream: ReadableStream<Uint8Array>): [ReadableStream<Uint8Array>, ReadableStream<Uint8Array>] {
  const reader = stream.getReader()
  const parts: Uint8Array[] = []
  let end: { readonly problem?: unknown } | undefined
  let arrival = Promise.withResolvers<void>()
  let left = 0
  const read = async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      parts.push(part.value)
      arrival.resolve()
      arrival = Promise.withResolvers()
    }
  }
  read()
    .then(
      () => (end = {}),
      (problem) => (end = { problem }),
    )
    .then(() => arrival.resolve())
  const branch = () => {
    let next = 0
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          if (next === parts.length && !end) await arrival.promise
          const part = parts[next]
          next += 1
          if (part) controller.enqueue(part)
          else if (end && 'problem' in end) controller.error(end.problem)
          else controller.close()
        },
        cancel() {
          left += 1
          return left === 2 ? reader.cancel() : undefined
        },
      },
      { highWaterMark: 0 },
    )
  }
  return [branch(), branch()]
}
