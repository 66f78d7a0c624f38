/**
 * WebSockets between a Worker and a Durable Object, which may hibernate while they are open.
 *
 * @see https://developers.cloudflare.com/durable-objects/best-practices/websockets/
 */
import { type Context, currentContext, findContext } from './context.ts'
import type { Network } from './network.ts'

/** A Durable Object that has accepted sockets. */
export type SocketHost = {
  readonly label: string
  readonly sockets: Set<SimulatedSocket>
  onSocketMessage(socket: SimulatedSocket, data: string): void
  onSocketClose(socket: SimulatedSocket, code: number, reason: string, wasClean: boolean): void
}

type Link = { isBroken: boolean }
type Listener = (event: object) => void

const open = 1
const closing = 2
const closed = 3

/** Bytes of an attachment. */
const maxAttachmentBytes = 16_384

/** One end of a WebSocket. */
export class SimulatedSocket {
  static readonly OPEN = open
  static readonly CLOSED = closed
  readyState = open
  tags: readonly string[] = []
  label = 'socket'
  #peer: SimulatedSocket | undefined
  #context: Context | undefined
  #host: SocketHost | undefined
  #attachment: unknown
  #isAccepted = false
  #early: (() => void)[] = []
  #lastArrival = 0
  readonly #listeners = new Map<string, Listener[]>()
  readonly #link: Link
  readonly #network: Network

  constructor(network: Network, link: Link) {
    this.#network = network
    this.#link = link
  }

  /** Returns both ends of a new WebSocket. */
  static pair(network: Network): readonly [SimulatedSocket, SimulatedSocket] {
    const link = { isBroken: false }
    const [one, other] = [new SimulatedSocket(network, link), new SimulatedSocket(network, link)]
    one.#peer = other
    other.#peer = one
    return [one, other]
  }

  serializeAttachment(value: unknown): void {
    if (JSON.stringify(value).length > maxAttachmentBytes) {
      throw new Error(`A WebSocket 'attachment' cannot be larger than ${maxAttachmentBytes} bytes`)
    }
    this.#attachment = structuredClone(value)
  }

  deserializeAttachment(): unknown {
    return structuredClone(this.#attachment)
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener])
  }

  /** Accepts the end of a Worker. Its connection is lost with the context that accepts it. */
  accept(): void {
    const context = currentContext()
    this.#context = context
    context.onLost.add(() => this.break())
    // What has arrived before is delivered first.
    const deliver = () => {
      this.#isAccepted = true
      for (const act of this.#early.splice(0)) act()
    }
    if (this.#link.isBroken && this.readyState !== closed) this.break()
    if (this.#early.length === 0) deliver()
    else this.#network.loop.after(0, `accepted ${this.label}`, deliver, context)
  }

  /** Accepts the end of an object, which survives its eviction. */
  hibernate(host: SocketHost, tags: readonly string[]): void {
    this.#host = host
    this.tags = tags
    this.label = `${host.label}[${tags}]`
    if (this.#peer) this.#peer.label = `peer of ${this.label}`
    this.#isAccepted = true
    host.sockets.add(this)
  }

  send(data: string): void {
    if (this.readyState === closing) throw new TypeError("Can't call WebSocket send() after close().")
    if (this.readyState === closed) return
    this.#transmit(`message ${data}`, (peer) => peer.#onMessage(data))
  }

  close(code = 1005, reason = ''): void {
    if (this.readyState !== open) return
    this.readyState = closing
    this.#transmit(`close ${code}`, (peer) => peer.#onClose(code, reason, true))
  }

  /** Loses the connection: what is on its way may arrive first, or is lost. */
  break(): void {
    const { loop, random } = this.#network
    if (this.#link.isBroken) return
    const arrivesFirst = random.chance(0.5)
    this.#link.isBroken = !arrivesFirst
    for (const end of [this, this.#peer]) {
      if (!end) continue
      const soon = loop.now + this.#network.latency()
      loop.at(arrivesFirst ? Math.max(soon, end.#lastArrival) : soon, `broken ${end.label}`, () => {
        this.#link.isBroken = true
        end.#onClose(1006, 'WebSocket disconnected without sending Close frame.', false)
      })
    }
  }

  /** Forgets the object, whose memory and connections are lost. */
  abandon(): void {
    this.#host = undefined
    this.break()
    this.readyState = closed
  }

  #transmit(label: string, arrive: (peer: SimulatedSocket) => void): void {
    const peer = this.#peer
    if (!peer) return
    const { loop } = this.#network
    const send = () => {
      peer.#lastArrival = Math.max(loop.now + this.#network.latency(), peer.#lastArrival + 0.001)
      loop.at(peer.#lastArrival, `${label} > ${peer.label}`, () => {
        if (!this.#link.isBroken) arrive(peer)
      })
    }
    const sender = findContext()
    if (sender) sender.send(send)
    else send()
  }

  #whenAccepted(act: () => void): void {
    if (this.#isAccepted) act()
    else this.#early.push(act)
  }

  #onMessage(data: string): void {
    this.#whenAccepted(() => {
      if (this.readyState === closed) return
      if (this.#host) this.#host.onSocketMessage(this, data)
      else this.#context?.enter(() => this.#dispatch('message', { data }))
    })
  }

  #onClose(code: number, reason: string, wasClean: boolean): void {
    this.#whenAccepted(() => {
      if (this.readyState === closed) return
      const isReply = this.readyState === closing
      this.readyState = closed
      if (wasClean && !isReply) this.#transmit(`closed ${code}`, (peer) => peer.#onClose(code, reason, true))
      if (this.#host) this.#host.onSocketClose(this, code, reason, wasClean)
      else this.#context?.enter(() => this.#dispatch('close', { code, reason, wasClean }))
    })
  }

  #dispatch(type: string, event: object): void {
    for (const listener of this.#listeners.get(type) ?? []) listener(event)
  }
}
