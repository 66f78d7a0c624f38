/** A seeded generator of random numbers (sfc32), and the choices that a simulation makes with it. */
export class Random {
  #a: number
  #b: number
  #c = 0x9e3779b9
  #counter = 1

  /** @param seed a whole number */
  constructor(seed: number) {
    this.#a = seed | 0
    this.#b = Math.floor(seed / 2 ** 32) | 0
    for (let round = 0; round < 15; round += 1) this.next()
  }

  /** Returns a number from 0 to 1, without 1. */
  next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return (sum >>> 0) / 2 ** 32
  }

  between(least: number, most: number): number {
    return least + this.next() * (most - least)
  }

  /** Returns a whole number, `most` included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** @param values at least one */
  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.next() * values.length)] as T
  }

  /** Returns so many of the values, each once, or all of them. */
  some<T>(values: readonly T[], count: number): T[] {
    const left = [...values]
    const chosen: T[] = []
    while (chosen.length < count && left.length > 0) chosen.push(...left.splice(this.whole(0, left.length - 1), 1))
    return chosen
  }

  /** Fills an array. */
  fill<T extends ArrayBufferView>(target: T): T {
    const bytes = new Uint8Array(target.buffer, target.byteOffset, target.byteLength)
    for (let index = 0; index < bytes.length; index += 1) bytes[index] = Math.floor(this.next() * 256)
    return target
  }

  uuid(): string {
    const bytes = this.fill(new Uint8Array(16))
    bytes[6] = (Number(bytes[6]) & 0x0f) | 0x40
    bytes[8] = (Number(bytes[8]) & 0x3f) | 0x80
    const hex = Buffer.from(bytes).toString('hex')
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
  }
}
