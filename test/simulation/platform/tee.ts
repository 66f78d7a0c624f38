import type { Buffers } from './buffers.ts'

/**
 * Returns two branches of a stream, as workerd does: each reads the stream when its own reader does, and keeps what the other one has not
 * read, also when the stream breaks. The `tee` of the standard reads ahead, and discards that.
 */
export function branchesOf(
  stream: ReadableStream<Uint8Array>,
  buffers: Buffers,
): [ReadableStream<Uint8Array>, ReadableStream<Uint8Array>] {
  const reader = stream.getReader()
  const branches: Branch[] = []
  let end: { readonly problem?: unknown } | undefined
  let reading: Promise<void> | undefined
  const readOn = async () => {
    try {
      const { done, value } = await reader.read()
      if (done) end = {}
      else for (const branch of branches) branch.add(value)
    } catch (problem) {
      end = { problem }
    }
    reading = undefined
  }
  const branch = () => {
    const own = new Branch(buffers)
    branches.push(own)
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          while (own.isEmpty && !end) {
            reading ??= readOn()
            await reading
          }
          const part = own.shift()
          if (part) controller.enqueue(part)
          else if (end && 'problem' in end) controller.error(end.problem)
          else controller.close()
        },
        cancel() {
          branches.splice(branches.indexOf(own), 1)
          return branches.length === 0 ? reader.cancel() : undefined
        },
      },
      { highWaterMark: 0 },
    )
  }
  return [branch(), branch()]
}

/** What one branch has not read. */
class Branch {
  readonly #parts: Uint8Array[] = []
  readonly #buffers: Buffers
  #bytes = 0

  constructor(buffers: Buffers) {
    this.#buffers = buffers
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0
  }

  add(part: Uint8Array): void {
    this.#parts.push(part)
    this.#bytes += part.length
    this.#buffers.note('copied', this.#bytes)
  }

  shift(): Uint8Array | undefined {
    const part = this.#parts.shift()
    this.#bytes -= part?.length ?? 0
    return part
  }
}
