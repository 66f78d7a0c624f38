import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder for what is measured, which is gone when it is left, and when this process ends before that. */
export class Folder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'edgemcp-bench-'))

  constructor() {
    process.once('exit', this.#remove)
  }

  [Symbol.dispose](): void {
    process.off('exit', this.#remove)
    this.#remove()
  }

  readonly #remove = (): void => rmSync(this.path, { recursive: true, force: true })
}
