/**
 * Web Crypto with the random numbers of the seed, and without threads: a thread would end at a time of its own. What AES-GCM, AES-KW, HMAC and
 * hashes need is synchronous; other algorithms run one at a time, and the event loop waits for them.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, type webcrypto } from 'node:crypto'
import type { Random } from './random.ts'

type Bytes = ArrayBuffer | ArrayBufferView
type AesGcm = { readonly iv: Uint8Array; readonly additionalData?: Uint8Array; readonly tagLength?: number }

/** A key for AES-GCM, AES-KW, or HMAC with SHA-256. */
class RawKey {
  readonly bytes: Buffer
  constructor(bytes: Buffer) {
    this.bytes = bytes
  }
}

/** The initial value of AES-KW: RFC 3394, section 2.2.3.1. */
const wrapIv = Buffer.alloc(8, 0xa6)

const hashes: Readonly<Record<string, string>> = {
  'SHA-1': 'sha1',
  'SHA-256': 'sha256',
  'SHA-384': 'sha384',
  'SHA-512': 'sha512',
}

const view = (data: Bytes): Buffer =>
  data instanceof ArrayBuffer ? Buffer.from(data) : Buffer.from(data.buffer, data.byteOffset, data.byteLength)
const buffer = (bytes: Buffer): ArrayBuffer => Uint8Array.from(bytes).buffer

const synchronous = {
  digest: (algorithm: string | { name: string }, data: Bytes) => {
    const { name } = typeof algorithm === 'string' ? { name: algorithm } : algorithm
    return buffer(createHash(String(hashes[name])).update(view(data)).digest())
  },
  encrypt: ({ iv, additionalData, tagLength = 128 }: AesGcm, { bytes }: RawKey, data: Bytes) => {
    const cipher = createCipheriv(`aes-${(bytes.length * 8) as 256}-gcm`, bytes, view(iv), {
      authTagLength: tagLength / 8,
    })
    if (additionalData) cipher.setAAD(view(additionalData))
    return buffer(Buffer.concat([cipher.update(view(data)), cipher.final(), cipher.getAuthTag()]))
  },
  decrypt: ({ iv, additionalData, tagLength = 128 }: AesGcm, { bytes }: RawKey, data: Bytes) => {
    const sealed = view(data)
    const end = sealed.length - tagLength / 8
    const decipher = createDecipheriv(`aes-${(bytes.length * 8) as 256}-gcm`, bytes, view(iv), {
      authTagLength: tagLength / 8,
    })
    if (additionalData) decipher.setAAD(view(additionalData))
    decipher.setAuthTag(sealed.subarray(end))
    return buffer(Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()]))
  },
  wrap: ({ bytes }: RawKey, wrapping: RawKey) => {
    const cipher = createCipheriv(wrapCipher(wrapping), wrapping.bytes, wrapIv)
    return buffer(Buffer.concat([cipher.update(bytes), cipher.final()]))
  },
  unwrap: (wrapped: Bytes, wrapping: RawKey) => {
    const decipher = createDecipheriv(wrapCipher(wrapping), wrapping.bytes, wrapIv)
    return new RawKey(Buffer.concat([decipher.update(view(wrapped)), decipher.final()]))
  },
}

const wrapCipher = ({ bytes }: RawKey): string => `id-aes${bytes.length * 8}-wrap`

/** Operations that run on threads, one after another. */
export class NativeQueue {
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  get isBusy(): boolean {
    return this.#waiting > 0
  }

  async run<T>(operation: () => Promise<T>): Promise<T> {
    this.#waiting += 1
    const before = this.#last
    const running = before.then(operation)
    // The next one starts when all that this one caused has settled.
    const finish = async () => {
      await new Promise((resolve) => setImmediate(resolve))
      this.#waiting -= 1
    }
    this.#last = running.then(finish, finish)
    return running
  }
}

/** Whether keys of an algorithm are `RawKey`. */
function isSynchronous(algorithm: unknown): boolean {
  const { name = algorithm, hash = 'SHA-256' } = Object(algorithm)
  return name === 'AES-GCM' || name === 'AES-KW' || (name === 'HMAC' && (hash === 'SHA-256' || hash.name === 'SHA-256'))
}

export function webCrypto(random: Random, natives: NativeQueue): object {
  const { subtle } = globalThis.crypto
  const own = {
    timingSafeEqual: (one: Bytes, other: Bytes) => view(one).equals(view(other)),
    digest: async (algorithm: string, data: Bytes) => synchronous.digest(algorithm, data),
    importKey: async (...args: Parameters<typeof subtle.importKey>) => {
      const [format, data, algorithm] = args as unknown as [string, Bytes, unknown]
      if (format === 'raw' && isSynchronous(algorithm)) return new RawKey(Buffer.from(view(data)))
      return natives.run(() => subtle.importKey(...args))
    },
    encrypt: async (algorithm: AesGcm, key: RawKey | webcrypto.CryptoKey, data: Bytes) =>
      key instanceof RawKey
        ? synchronous.encrypt(algorithm, key, data)
        : natives.run(() => subtle.encrypt(algorithm as never, key as never, data as never)),
    decrypt: async (algorithm: AesGcm, key: RawKey | webcrypto.CryptoKey, data: Bytes) =>
      key instanceof RawKey
        ? synchronous.decrypt(algorithm, key, data)
        : natives.run(() => subtle.decrypt(algorithm as never, key as never, data as never)),
    generateKey: async (...args: Parameters<typeof subtle.generateKey>) =>
      isSynchronous(args[0])
        ? new RawKey(Buffer.from(random.fill(new Uint8Array(32))))
        : natives.run(() => subtle.generateKey(...args)),
    sign: async (algorithm: unknown, key: RawKey | webcrypto.CryptoKey, data: Bytes) =>
      key instanceof RawKey
        ? buffer(createHmac('sha256', key.bytes).update(view(data)).digest())
        : natives.run(() => subtle.sign(algorithm as never, key as never, data as never)),
    verify: async (algorithm: unknown, key: RawKey | webcrypto.CryptoKey, signature: Bytes, data: Bytes) =>
      key instanceof RawKey
        ? createHmac('sha256', key.bytes).update(view(data)).digest().equals(view(signature))
        : natives.run(() => subtle.verify(algorithm as never, key as never, signature as never, data as never)),
    // The formats and algorithms are those of sign-in: AES-GCM keys, wrapped with AES-KW.
    wrapKey: async (_: 'raw', key: RawKey, wrapping: RawKey) => synchronous.wrap(key, wrapping),
    unwrapKey: async (_: 'raw', wrapped: Bytes, wrapping: RawKey) => synchronous.unwrap(wrapped, wrapping),
  }
  return {
    randomUUID: () => random.uuid(),
    getRandomValues: (target: ArrayBufferView) => random.fill(target),
    subtle: new Proxy(own, {
      get: (_, name) => {
        if (Object.hasOwn(own, name)) return Reflect.get(own, name)
        const native = Reflect.get(subtle, name) as (...args: unknown[]) => Promise<unknown>
        return (...args: unknown[]) => natives.run(() => native.apply(subtle, args))
      },
    }),
  }
}
