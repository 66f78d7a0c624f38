/** `edgemcp openapi`: the operations of an OpenAPI document as a module, made once instead of whenever a Worker starts. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Operation } from '../../worker/plugins/openapi/operation.ts'
import { parseOpenApi } from '../../worker/plugins/openapi/parse-openapi.ts'
import { CliError } from '../cli-error.ts'
import { readDocument } from './document.ts'
import { mark, moduleOf, nameFor } from './module.ts'

/** @throws Refusal when there is no document to read, or something else is where the module should be */
export async function openapi(document: string | undefined, { out }: { out?: string | undefined }): Promise<number> {
  if (document === undefined) {
    throw new CliError('Name the document: npx edgemcp openapi pets.yaml --out src/pets.ts')
  }
  if (out !== undefined) checkFree(out)
  const operations = operationsIn(document)
  const name = nameFor(out ?? document)
  const written = moduleOf(operations, name, out === undefined ? [document] : [document, '--out', out])
  if (out === undefined) {
    process.stdout.write(written)
    return 0
  }
  mkdirSync(dirname(out), { recursive: true })
  writeFileSync(out, written)
  const count = operations.length === 1 ? 'one operation' : `${operations.length} operations`
  console.log(`Wrote ${out}: ${count}, for server.use(openApiTools(${name}, { base: 'https://…' })).`)
  return 0
}

function operationsIn(document: string): Operation[] {
  const operations = readOperations(document)
  if (operations.length > 0) return operations
  throw new CliError(
    `${document} has no operation that could be a tool: those that take another body than JSON could not.`,
  )
}

function readOperations(document: string): Operation[] {
  const read = readDocument(document)
  try {
    return parseOpenApi(read, { onSkipped: (sentence) => console.error(`Left out: ${sentence}.`) })
  } catch (problem) {
    // What it says is about the document; anything else is a mistake here.
    if ((problem as Error).constructor !== Error) throw problem
    throw new CliError(`${document}: ${(problem as Error).message}.`)
  }
}

/** Nothing is overwritten that was not made by this command. */
function checkFree(out: string): void {
  if (!/\.m?ts$/.test(out))
    throw new CliError(`--out ${out}: what is written is TypeScript, so name a file that ends in .ts.`)
  if (!existsSync(out)) return
  if (statSync(out).isDirectory()) throw new CliError(`${out} is a folder: name a file in it.`)
  if (readFileSync(out, 'utf8').startsWith(mark)) return
  throw new CliError(
    `${out} was not made by this command, and is not overwritten: name another file, or remove it first.`,
  )
}
