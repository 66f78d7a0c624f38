/** `edgemcp openapi`: writes the operations of an OpenAPI document as a module, so that no Worker parses it at startup. */
import type { Operation } from '../../worker/plugins/openapi/operation-type.ts'
import { parseOpenApi } from '../../worker/plugins/openapi/parse-openapi.ts'
import { consistsOf } from '../../worker/protocol/consists-of.ts'
import { CliError } from '../cli-error.ts'
import { checkFree, firstLine, literal, nameFor, outputModule } from '../generated-module.ts'
import { readDocument } from './document.ts'

type Options = { readonly out?: string; readonly include?: readonly string[]; readonly exclude?: readonly string[] }

/** @throws CliError when there is no document, a pattern matches no operation, or the file of the module was not generated */
export async function openapi(document: string | undefined, options: Options): Promise<number> {
  const { out, include = [], exclude = [] } = options
  if (document === undefined) {
    throw new CliError('Give the path of a document: npx edgemcp openapi pets.yaml --out src/pets.ts')
  }
  if (out !== undefined) checkFree('openapi', out)
  const operations = selected(operationsIn(document), options)
  const name = nameFor(out ?? document, 'openApiTools')
  const args = [
    document,
    ...(out === undefined ? [] : ['--out', out]),
    ...include.flatMap((pattern) => ['--include', pattern]),
    ...exclude.flatMap((pattern) => ['--exclude', pattern]),
  ]
  const written = moduleOf(operations, name, args)
  const count = operations.length === 1 ? 'one operation' : `${operations.length} operations`
  return outputModule(
    'openapi',
    out,
    written,
    `${count}, for server.use(openApiTools(${name}, { baseUrl: 'https://…' })).`,
  )
}

/** Selects operations by the names of their tools, as `include` and `exclude` of `openApiTools()` do. */
function selected(operations: readonly Operation[], { include, exclude = [] }: Options): readonly Operation[] {
  const matches = (pattern: string, { name }: Operation) => consistsOf(pattern.split('*'), name)
  for (const pattern of [...(include ?? []), ...exclude]) {
    if (operations.some((operation) => matches(pattern, operation))) continue
    throw new CliError(`No operation has the name ${pattern}: patterns are names of tools, and * stands for any text.`)
  }
  const found = operations.filter(
    (operation) =>
      (include?.some((pattern) => matches(pattern, operation)) ?? true) &&
      !exclude.some((pattern) => matches(pattern, operation)),
  )
  if (found.length > 0) return found
  throw new CliError('No operation is left: --exclude has the names of all.')
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
