/** Validates declarations beyond the members of definitions, which `check-members.ts` validates. Errors name the fix. */

import { isObject } from '../protocol/jsonrpc.ts'
import {
  type Annotation,
  annotation,
  type HeaderParameter,
  headerParameters,
  isToken,
  mostHeaderParameters,
} from '../protocol/param-headers.ts'
import type { JsonSchema } from '../protocol/types.ts'
import { normalizePart, uriProblem } from '../protocol/uri.ts'
import { checkOptions, checkValue } from './check-options.ts'
import * as kind from './option-kinds.ts'
import type { Prompt } from './prompt.ts'
import type { Resource } from './resource.ts'

export function checkModule(module: unknown, options: unknown): void {
  checkValue('server.use()', 'module', module, [kind.fn[0], 'a function such as the result of mount(server)'])
  checkOptions('server.use()', options, { prefix: kind.string })
}

export const checkInterceptor = (interceptor: unknown): void =>
  checkValue('server.intercept()', 'interceptor', interceptor, kind.fn)

export function checkToolName(name: string): void {
  if (kind.toolName.test(name)) return
  throw new Error(`The tool name "${name}" must be 1 to 128 letters, digits, "_", "." or "-"`)
}

export function checkTool(name: string, { description }: { description: string }, handler: unknown): void {
  checkToolName(name)
  if (typeof description !== 'string' || description === '') {
    throw new Error(`The tool "${name}" needs a description: models choose tools by it`)
  }
  checkHandler(`The tool "${name}"`, handler)
}

/** @throws Error for a schema that is not of an object, and for arguments that headers cannot repeat */
export function checkInputSchema(name: string, inputSchema: JsonSchema): void {
  if (inputSchema.type !== 'object') {
    throw new Error(
      `The inputSchema of tool "${name}" must be an object schema: wrap it in an object with one property`,
    )
  }
  const wrong = mirroringProblem(inputSchema)
  if (wrong) throw new Error(`Invalid inputSchema of tool "${name}": ${wrong}`)
}

/** Returns why clients would have to reject a tool for the arguments that headers repeat. */
export function mirroringProblem(inputSchema: JsonSchema): string | undefined {
  let problem: string | undefined
  headerParameters(inputSchema, (header, others) => {
    problem ??= wrongIn(header, others)
  })
  return problem
}

/** Returns why clients would have to reject a tool with this annotation. */
function wrongIn([header, type, path, reachable]: Annotation, others: readonly HeaderParameter[]) {
  const where = path.join('.') || 'the root'
  if (!isToken(header)) {
    return `${annotation} on ${where} must be a header name of letters, digits and dashes`
  }
  if (!reachable) return `${annotation} "${header}" must be on a property reached through "properties" only`
  if (type !== 'string' && type !== 'integer' && type !== 'boolean') {
    return `${annotation} on ${where} needs the type string, integer or boolean`
  }
  if (others.length === mostHeaderParameters) return `${annotation} has too many uses`
  if (others.some((other) => other.header.toLowerCase() === header.toLowerCase())) {
    return `${annotation} "${header}" is used twice: names ignore case`
  }
  return undefined
}

export function checkPrompt(name: string, handler: unknown): void {
  if (name === '') throw new Error('A prompt needs a name')
  checkHandler(`The prompt "${name}"`, handler)
}

export function checkPromptArguments({ item, args }: Prompt): void {
  const schema = args?.jsonSchema
  if (schema && schema.type !== 'object')
    throw new Error(`The argsSchema of prompt "${item.name}" must be an object schema`)
  for (const [argument, property] of Object.entries(isObject(schema?.properties) ? schema.properties : {})) {
    const type = isObject(property) ? property.type : undefined
    if (type !== undefined && type !== 'string') {
      throw new Error(`The argument "${argument}" of prompt "${item.name}" must be a string: clients send only strings`)
    }
  }
}

export function checkResource(uri: string, handler: unknown): void {
  if (!/^[a-z][a-z\d+.-]*:/i.test(uri)) {
    throw new Error(`The resource "${uri}" needs a URI with a scheme, such as "note://${uri}"`)
  }
  checkHandler(`The resource "${uri}"`, handler)
}

export function checkTemplate(uri: string, { template }: Resource): void {
  checkUri(uri, template ? template.uri(Object.fromEntries(template.names.map((name) => [name, 'x']))) : uri)
}

/** @param uri the URI, or one to which the template expands. @throws Error for one that clients could not read */
function checkUri(declared: string, uri: string): void {
  const parsed = URL.parse(uri)?.href
  if (parsed !== undefined && normalizePart(parsed) !== normalizePart(uri.toWellFormed())) {
    throw new Error(`URL parsers read "${parsed}" for "${uri}" of the resource "${declared}": write it as they do`)
  }
  const problem = uriProblem(uri)
  if (problem !== undefined) throw new Error(`The URI of the resource "${declared}" ${problem}`)
}

function checkHandler(owner: string, handler: unknown): void {
  if (typeof handler !== 'function') throw new Error(`${owner} needs a handler as its third argument`)
}

/** @param maker the name of the public function for errors, such as `image()` */
export const checkBase64 = (maker: string, data: unknown): void =>
  checkValue(maker, 'data', data, [
    (value) => value instanceof Uint8Array || kind.base64[0](value),
    `a Uint8Array, or ${kind.base64[1]}`,
  ])
