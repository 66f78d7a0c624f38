/**
 * Reads the operations of an OpenAPI document.
 *
 * @see https://spec.openapis.org/oas/v3.2.0.html
 */
import { checkOptions } from '../../declarations/check-options.ts'
import { jsonSchema } from '../../declarations/json-schema/index.ts'
import { fn } from '../../declarations/option-kinds.ts'
import { readSchema } from '../../declarations/schema.ts'
import { messageOf } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'
import type { Operation } from './operation-type.ts'
import { followed } from './references.ts'
import { maxDefinitions } from './schemas.ts'
import { bodyOf, type OperationSource, ToolInput } from './tool-input.ts'
import { toolNames } from './tool-names.ts'

const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'] as const

/** Returns the methods of a path that have no tool. */
const unsupportedOf = ({ additionalOperations, ...item }: Params): string[] => [
  ...['query', 'trace'].filter((method) => isObject(item[method])).map((method) => method.toUpperCase()),
  ...Object.keys(isObject(additionalOperations) ? additionalOperations : {}),
]

/** Configures `parseOpenApi()`. */
export type ParseOpenApiOptions = {
  /** Receives a sentence for each part of the document that has no tool. Default: they are skipped silently. */
  onSkipped?: (sentence: string) => void
}

/**
 * Reads the operations of an OpenAPI document, in its order. Skips parameters in cookies, headers that a model must not set, and operations
 * whose body is neither JSON nor a form. `npx edgemcp openapi` does the same at build time, so that the Worker contains only the operations.
 *
 * @param document OpenAPI 3.0, 3.1 or 3.2, complete: only references inside the document are resolved
 * @throws Error for an invalid document. The message names the problem and its place
 * @see https://spec.openapis.org/oas/v3.2.0.html
 *
 * @example
 * import pets from './pets.json'
 * const operations = parseOpenApi(pets, { onSkipped: (sentence) => console.warn(sentence) })
 */
export function parseOpenApi(document: unknown, options: ParseOpenApiOptions = {}): Operation[] {
  checkOptions('parseOpenApi()', options, { onSkipped: fn })
  const { onSkipped = () => {} } = options
  if (!isObject(document) || !/^3\.[012]\./.test(`${document.openapi}`)) {
    throw new Error('Not an OpenAPI 3.0, 3.1 or 3.2 document: its "openapi" must be a version such as "3.1.0"')
  }
  const paths = isObject(document.paths) ? document.paths : {}
  const operations: { operationId: unknown; method: string; operation: Omit<Operation, 'name'> }[] = []
  for (const [path, value] of Object.entries(paths)) {
    if (path.startsWith('x-')) continue
    const item = followed(value, document, path, (reference) => reference)
    for (const method of unsupportedOf(item)) onSkipped(`${method} ${path}, whose method is not supported`)
    for (const method of methods) {
      if (!isObject(item[method])) continue
      const source = { document, path, method, where: `${method.toUpperCase()} ${path}`, onSkipped }
      try {
        const operation = readOperation(source, item, item[method])
        if (operation && isValid(operation, source)) {
          operations.push({ operationId: item[method].operationId, method, operation })
        }
      } catch (problem) {
        if (!(problem instanceof RangeError)) throw problem
        onSkipped(
          `${source.where}, whose schemas are nested too deeply, or refer to more than ${maxDefinitions} others`,
        )
      }
    }
  }
  const names = toolNames(operations.map(({ operation: { path }, ...named }) => ({ ...named, path })))
  const listed = new Set(operations.map(({ operation: { path } }) => path))
  const skipped = Object.keys(paths).filter((path) => path.startsWith('/') && !listed.has(path))
  return operations.map(({ operation }, index) => {
    const skippedPaths = skipped.filter((path) => isReachable(path, operation.path))
    // One name for each.
    return { name: names[index] as string, ...operation, ...(skippedPaths.length > 0 && { skippedPaths }) }
  })
}

/** Whether an argument of a path could make another one. */
function isReachable(other: string, path: string): boolean {
  const [one = '', another = ''] = [other, path].map((path) => path.replace(/\/?\{.*$/s, '').toLowerCase())
  return path.includes('{') && (one.startsWith(another) || another.startsWith(one))
}

/**
 * Whether the server accepts the schema of an operation. One that it refuses is reported: it would stop the whole Worker at startup.
 *
 * @throws RangeError for a schema that is nested too deeply
 */
function isValid({ input }: Pick<Operation, 'input'>, { where, onSkipped }: OperationSource): boolean {
  try {
    readSchema(input, 'input', 'schema of its arguments', jsonSchema)
    return true
  } catch (problem) {
    if (problem instanceof RangeError) throw problem
    onSkipped(`${where}, because ${messageOf(problem).replace(/^The/, 'the')}`)
    return false
  }
}

/**
 * Reads one operation.
 *
 * @param item its path
 * @returns `undefined` for an operation that a tool cannot call, which is reported
 * @throws Error for a path that does not start with "/", and for a reference without a target; RangeError, see `Schemas`
 */
function readOperation(source: OperationSource, item: Params, operation: Params): Omit<Operation, 'name'> | undefined {
  const { document, path, method, where, onSkipped } = source
  if (!path.startsWith('/')) throw new Error(`${where}: a path must start with "/"`)
  if (path.includes('#')) {
    onSkipped(`${where}, whose path has a "#": nothing after it is sent`)
    return undefined
  }
  const input = new ToolInput(source)
  if (!input.addParameters([...listOf(item.parameters), ...listOf(operation.parameters)])) return undefined
  const undeclared = input.findUndeclared()
  if (undeclared) {
    onSkipped(`${where}, which does not declare the parameter "${undeclared}" of its path`)
    return undefined
  }
  const body = bodyOf(source, operation.requestBody)
  if (body === 'unsupported') return undefined
  if (body) input.addBody(body)
  const servers = listOf(operation.servers ?? item.servers)
  if (servers.length > 0 && JSON.stringify(servers) !== JSON.stringify(document.servers)) {
    onSkipped(`${where} without its own servers: requests go to baseUrl`)
  }
  return {
    description: [operation.summary, operation.description].filter(Boolean).join('\n\n') || where,
    method: method.toUpperCase(),
    path,
    parameters: input.parameters,
    hasBody: body !== undefined,
    ...(body && body.type !== 'application/json' && { bodyType: body.type }),
    ...(body?.fields && Object.keys(body.fields).length > 0 && { bodyFields: body.fields }),
    ...(body?.hasOtherFiles && { hasOtherFiles: true }),
    input: input.schema,
    annotations: {
      readOnlyHint: method === 'get' || method === 'head' || method === 'options',
      destructiveHint: method === 'delete' || method === 'put',
      idempotentHint: method !== 'post' && method !== 'patch',
      openWorldHint: true,
    },
  }
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
