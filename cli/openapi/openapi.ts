/** `edgemcp openapi`: writes the operations of an OpenAPI document as a module, so that no Worker parses it at startup. */
import type { Operation } from '../../worker/plugins/openapi/operation-type.ts'
import { parseOpenApi } from '../../worker/plugins/openapi/parse-openapi.ts'
import { CliError } from '../cli-error.ts'
import { checkFree, firstLine, literal, nameFor, outputModule } from '../generated-module.ts'
import { readDocument } from './document.ts'

/** @throws CliError when there is no document, or the file of the module was not generated */
export async function openapi(document: string | undefined, { out }: { out?: string | undefined }): Promise<number> {
  if (document === undefined) {
    throw new CliError('Give the path of a document: npx edgemcp openapi pets.yaml --out src/pets.ts')
  }
  if (out !== undefined) checkFree('openapi', out)
  const operations = operationsIn(document)
  const name = nameFor(out ?? document, 'openApiTools')
  const written = moduleOf(operations, name, out === undefined ? [document] : [document, '--out', out])
  const count = operations.length === 1 ? 'one operation' : `${operations.length} operations`
  return outputModule(
    'openapi',
    out,
    written,
    `${count}, for server.use(openApiTools(${name}, { baseUrl: 'https://…' })).`,
  )
}

function operationsIn(document: string): Operation[] {
  const operations = readOperations(document)
  if (operations.length > 0) return operations
  throw new CliError(`${document} has no operation that can be a tool.`)
}

function readOperations(document: string): Operation[] {
  const read = readDocument(document)
  try {
    return parseOpenApi(read, { onSkipped: (sentence) => console.error(`Left out: ${sentence}.`) })
  } catch (problem) {
    // Errors of the parser are about the document. Other errors are defects of this command.
    if ((problem as Error).constructor !== Error) throw problem
    throw new CliError(`${document}: ${(problem as Error).message}.`)
  }
}

/**
 * `as` gives each operation of the list its type. Without it the compiler unites the types of all of them first, and refuses a list of
 * hundreds of operations as too complex (TS2590).
 */
const moduleOf = (operations: readonly Operation[], name: string, args: readonly string[]): string =>
  [
    firstLine('openapi', args),
    "import type { Operation } from 'edgemcp/openapi'",
    '',
    `export const ${name}: readonly Operation[] = [`,
    ...operations.map((operation) => `  ${literal(operation)} as Operation,`),
    ']',
    '',
  ].join('\n')
