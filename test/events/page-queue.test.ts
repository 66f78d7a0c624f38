/** Which pages of a log are read at the same time. */
import { expect, test } from 'vitest'
import { PageQueue } from '../../durable-objects/events/page-queue.ts'

class Pages {
  readonly #queue = new PageQueue()
  readonly #ends = new Map<string, { resolve(): void; reject(problem: Error): void }>()
  readonly started: string[] = []

  /** @param name of the caller, and a number */
  read(name: string): Promise<void> {
    return this.#queue.read(name.slice(0, -1), () => {
      this.started.push(name)
      return new Promise<void>((resolve, reject) => void this.#ends.set(name, { resolve, reject }))
    })
  }

  async end(name: string, problem?: Error): Promise<void> {
    const { resolve, reject } = this.#ends.get(name) ?? expect.unreachable(`${name} has not started`)
    if (problem) reject(problem)
    else resolve()
    await settled()
  }
}

/** Resolves after all that promises have caused. */
const settled = () => new Promise<void>((resolve) => void setImmediate(resolve))

test('four callers read at the same time, each of them one page', async () => {
  const pages = new Pages()
  for (const name of ['a1', 'a2', 'b1', 'c1', 'd1', 'e1', 'f1']) void pages.read(name)
  await settled()
  expect(pages.started).toEqual(['a1', 'b1', 'c1', 'd1'])
  await pages.end('b1')
  expect(pages.started.slice(4)).toEqual(['e1'])
  await pages.end('a1')
  expect(pages.started.slice(5)).toEqual(['a2'])
  await pages.end('c1')
  expect(pages.started.slice(6)).toEqual(['f1'])
})

test('callers take turns, however many pages one of them wants', async () => {
  const pages = new Pages()
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'd1', 'e1', 'e2']) void pages.read(name)
  await settled()
  const order: string[] = []
  while (order.length < 8) {
    const next = pages.started[order.length] ?? expect.unreachable('a page waits for ever')
    order.push(next)
    await pages.end(next)
  }
  expect(order).toEqual(['a1', 'b1', 'c1', 'd1', 'a2', 'e1', 'a3', 'e2'])
})

test('a page that fails frees its place', async () => {
  const pages = new Pages()
  const failed = pages.read('a1')
  void pages.read('a2')
  await settled()
  const rejected = expect(failed).rejects.toThrow('The storage fails')
  await pages.end('a1', new Error('The storage fails'))
  await rejected
  expect(pages.started).toEqual(['a1', 'a2'])
})
