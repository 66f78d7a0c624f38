import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A temporary folder. It is deleted when it is disposed of, and when this process ends before that. */
export class Folder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'edgemcp-'))

  constructor() {
    process.once('exit', this.#remove)
  }

  [Symbol.dispose](): void {
    process.off('exit', this.#remove)
    this.#remove()
  }

  readonly #remove = (): void => rmSync(this.path, { recursive: true, force: true, maxRetries: 5 })
}
