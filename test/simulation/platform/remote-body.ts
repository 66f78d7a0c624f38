/**
 * A byte stream that a call returned. Its bytes arrive in their order, cut anywhere, until the stream ends, or one of its ends is lost. The
 * owner's stream is read as far as the network between them has room for what the receiver has not read.
 */
import type { Context } from './context.ts'
import { connectionLost, type Network } from './network.ts'
import { branchesOf } from './tee.ts'
import { Window } from './window.ts'

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
  const window = new Window(random)
  /** What has arrived, and was not read. */
  let parts: Uint8Array[] = []
  /** Ends the copy after these parts. */
  let finish: (() => void) | undefined
  let onArrival = () => {}
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
  const finishWith = (act: () => void) => {
    finish ??= act
    onArrival()
  }
  const fail = () => finishWith(() => controller.error(connectionLost()))
  const cancelSource = () => owner.enter(() => void reader.cancel().catch(() => {}))
  /** Loses the stream: what is on its way arrives first, or is lost. */
  const lose = () => {
    const isLate = random.chance(0.5)
    if (!end()) return
    const discard = () => {
      parts = []
      fail()
    }
    if (isLate) arrive(`body ${owner.label} breaks`, loop.now + network.latency(), fail)
    else
      loop.after(
        network.latency() / 4,
        `body ${owner.label} is lost > ${receiver.label}`,
        () => receiver.enter(discard),
        receiver,
      )
    cancelSource()
  }
  /** The receiver reads no more. */
  const leave = () => {
    if (end()) loop.after(network.latency(), `body ${owner.label} is left`, cancelSource, owner)
  }
  owner.pending += 1
  owner.onLost.add(lose)
  receiver.onLost.add(leave)
  calls.add(lose)
  if (receiver.isLost) leave()
  const send = (label: string, act: () => void) => owner.send(() => arrive(label, loop.now + network.latency(), act))
  const sendPart = (part: Uint8Array) =>
    send(`bytes ${part.length}`, () => {
      if (finish) return
      parts.push(part)
      onArrival()
    })
  const pump = async () => {
    for (let read = await reader.read(); !read.done && !isOver; read = await reader.read()) {
      for (const part of cut(read.value)) await window.write(part, sendPart)
    }
    sendEnd('ends', () => controller.close())
  }
  const sendEnd = (how: string, act: () => void) =>
    send(`body ${owner.label} ${how}`, () => {
      if (end()) finishWith(act)
    })
  const cut = (bytes: Uint8Array): readonly Uint8Array[] => {
    const at = random.chance(0.3) ? random.whole(1, bytes.length) : bytes.length
    return [bytes.slice(0, at), bytes.slice(at)].filter(({ length }) => length > 0)
  }
  const take = (part: Uint8Array) => {
    window.take(part.length)
    if (!window.isAwaited || isOver) return
    loop.after(network.latency() / 4, `room > ${owner.label}`, () => owner.enter(() => window.open()), owner)
  }
  const copy = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given
      },
      async pull() {
        while (parts.length === 0 && !finish) await new Promise<void>((resolve) => (onArrival = resolve))
        const part = parts.shift()
        if (!part) return finish?.()
        take(part)
        controller.enqueue(part)
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
  // A source that was cancelled ends, one that its writer gave up breaks.
  owner.run(() => void pump().catch(() => sendEnd('is given up', () => controller.error(connectionLost()))))
  return Object.assign(copy, { tee: () => branchesOf(copy, network.buffers) })
}
