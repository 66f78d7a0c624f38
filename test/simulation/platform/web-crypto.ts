/**
 * Web Crypto with the random numbers of the seed, and without threads: a thread would end at a time of its own. What AES-GCM and hashes need
 * is synchronous; other algorithms run one at a time, and the event loop waits for them.
 */
import { createCipheriv, createDecipheriv, createHash, type webcrypto } from 'node:crypto'
import type { Random } from './random.ts'

type Bytes = ArrayBuffer | ArrayBufferView
type AesGcm = { readonly iv: Uint8Array; readonly additionalData?: Uint8Array; readonly tagLength?: number }

/** A key for AES-GCM. */
class AesKey {
  readonly bytes: Buffer
  constructor(bytes: Buffer) {
    this.bytes = bytes
  }
}

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
  encrypt: ({ iv, additionalData, tagLength = 128 }: AesGcm, { bytes }: AesKey, data: Bytes) => {
    const cipher = createCipheriv(`aes-${(bytes.length * 8) as 256}-gcm`, bytes, view(iv), {
      authTagLength: tagLength / 8,
    })
    if (additionalData) cipher.setAAD(view(additionalData))
    return buffer(Buffer.concat([cipher.update(view(data)), cipher.final(), cipher.getAuthTag()]))
  },
  decrypt: ({ iv, additionalData, tagLength = 128 }: AesGcm, { bytes }: AesKey, data: Bytes) => {
    const sealed = view(data)
    const end = sealed.length - tagLength / 8
    const decipher = createDecipheriv(`aes-${(bytes.length * 8) as 256}-gcm`, bytes, view(iv), {
      authTagLength: tagLength / 8,
    })
    if (additionalData) decipher.setAAD(view(additionalData))
    decipher.setAuthTag(sealed.subarray(end))
    return buffer(Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()]))
  },
}

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

const isAesGcm = (algorithm: unknown): boolean =>
  algorithm === 'AES-GCM' || (algorithm as { name?: unknown } | undefined)?.name === 'AES-GCM'

export function webCrypto(random: Random, natives: NativeQueue): object {
  const { subtle } = globalThis.crypto
  const own = {
    timingSafeEqual: (one: Bytes, other: Bytes) => view(one).equals(view(other)),
    digest: async (algorithm: string, data: Bytes) => synchronous.digest(algorithm, data),
    importKey: async (...args: Parameters<typeof subtle.importKey>) => {
      const [format, data, algorithm] = args as unknown as [string, Bytes, unknown]
      if (format === 'raw' && isAesGcm(algorithm)) return new AesKey(Buffer.from(view(data)))
      return natives.run(() => subtle.importKey(...args))
    },
    encrypt: async (algorithm: AesGcm, key: AesKey | webcrypto.CryptoKey, data: Bytes) =>
      key instanceof AesKey
        ? synchronous.encrypt(algorithm, key, data)
        : natives.run(() => subtle.encrypt(algorithm as never, key as never, data as never)),
    decrypt: async (algorithm: AesGcm, key: AesKey | webcrypto.CryptoKey, data: Bytes) =>
      key instanceof AesKey
        ? synchronous.decrypt(algorithm, key, data)
        : natives.run(() => subtle.decrypt(algorithm as never, key as never, data as never)),
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
