/** Validates definitions of tools, resources and prompts: names and values of their members. Errors propose the correct name. */

import type { AccessOptions, RateLimit } from './caller.ts'
import { checkOptions, checkValue, isObject, type Kind, type KindsOf, preview } from './check-options.ts'
import * as kind from './option-kinds.ts'
import { describing } from './optional-members.ts'
import type { PromptDefinition } from './prompt.ts'
import type { ResourceDefinition } from './resource.ts'
import type { Schema } from './schema.ts'
import type { TaskOptions, ToolDefinition } from './tool.ts'

type Declared = 'tool' | 'resource' | 'prompt'

const matching = (pattern: RegExp, expected: string): Kind => [
  (value) => typeof value === 'string' && pattern.test(value),
  expected,
]

const visibility: KindsOf<AccessOptions> = {
  scopes: kind.scopes,
  rateLimit: kind.object(
    {
      rate: matching(/^[1-9]\d{0,8}\/(10s|m)$/, "a string such as '60/m' or '10/10s'"),
      quota: matching(/^[1-9]\d{0,8}\/[mhd]$/, "a string such as '10/m', '100/h' or '1000/d'"),
      concurrent: kind.atLeastOne,
    } satisfies KindsOf<RateLimit>,
    "an object such as { rate: '60/m' }",
  ),
  listWithoutScopes: kind.flag,
  visibleTo: [
    kind.fn[0],
    'a function of the caller; to enable and disable it while the server runs, write enabled: false',
  ],
  // `checkDefinition` says what to write instead.
  enabled: kind.anything,
}

/** A schema is compiled later. A falsy value would count as no schema. */
const schema: Kind = [Boolean, 'a schema']
const item = { title: kind.string, description: kind.string, icons: kind.icons, _meta: kind.object() }

const kinds = {
  tool: {
    ...item,
    inputSchema: schema,
    outputSchema: schema,
    annotations: kind.toolAnnotations,
    singleUse: kind.flag,
    task: [
      (value) => typeof value === 'boolean' || isObject(value),
      "true, false or an object such as { ttl: '1h' }",
      {
        required: kind.flag,
        answerWithin: kind.duration,
        ttl: kind.duration,
        pollInterval: kind.duration,
        retries: kind.size,
      } satisfies KindsOf<TaskOptions>,
    ],
    ...visibility,
  } satisfies KindsOf<ToolDefinition<Schema, Schema>>,
  resource: {
    ...describing,
    name: kind.name,
    caching: kind.caching,
    authorize: kind.fn,
    filterCompletions: kind.flag,
    list: kind.fn,
    complete: kind.functions,
    ...visibility,
  } satisfies KindsOf<ResourceDefinition<string>>,
  prompt: { ...item, argsSchema: schema, complete: kind.functions, ...visibility } satisfies KindsOf<
    PromptDefinition<Schema>
  >,
}

/** Names of members in other libraries, and what to write instead. */
const renamed: Readonly<Record<Declared, Readonly<Record<string, string>>>> = {
  tool: {
    input: 'write "inputSchema"',
    parameters: 'write "inputSchema"',
    output: 'write "outputSchema"',
    name: 'give the name as the first argument',
  },
  resource: { uri: 'give the URI as the first argument', template: 'give the URI template as the first argument' },
  prompt: { args: 'write "argsSchema"', arguments: 'write "argsSchema"', name: 'give the name as the first argument' },
}

const handler = 'give the handler as the third argument'
const handlers = { handler, execute: handler, callback: handler, run: handler }

/** Returns the call as the developer should write it, for an error. */
function call(declared: Declared, name: string, definition: unknown): string {
  if (declared === 'tool') {
    return `write server.tool("${name}", { description: "…", inputSchema: z.object({ … }) }, handler)`
  }
  if (declared === 'prompt') {
    return `write server.prompt("${name}", { description: "…", argsSchema: z.object({ … }) }, handler)`
  }
  // The official SDK takes the name first.
  const [uri, described] = typeof definition === 'string' ? [definition, `name: "${name}", `] : [name, '']
  return `write server.resource("${uri}", { ${described}description: "…" }, handler)`
}

const writeTool = 'write server.tool(name, { description, inputSchema: schema }, handler)'
const writeServe = 'write export default serve(server) in place of a transport'

/** Methods of servers of the official SDK and of FastMCP, and of Workers, and what replaces them. */
const methodsOfOthers: Readonly<Record<string, string>> = {
  registerTool: writeTool,
  addTool: writeTool,
  registerResource: 'write server.resource(uri, { name, description }, handler)',
  registerPrompt: 'write server.prompt(name, { description, argsSchema: schema }, handler)',
  setRequestHandler: 'declare tools, resources and prompts instead, or use server.intercept(fn)',
  connect: writeServe,
  start: writeServe,
  // The Worker calls this for each request if its default export is the server.
  fetch: 'write export default serve(server)',
}

/** Adds methods to a class of servers that throw an error with the call to write instead. */
export function refuseMisuse(prototype: object): void {
  for (const [name, fix] of Object.entries(methodsOfOthers)) {
    Object.defineProperty(prototype, name, {
      value() {
        throw new Error(`edgemcp has no server.${name}(): ${fix}`)
      },
    })
  }
}

/** @throws Error for a definition that is not an object, and for a member with an unknown name or a wrong value */
export function checkDefinition(declared: Declared, ownName: string, definition: unknown, prefix = ''): void {
  // A prefix would make a text of another value.
  checkValue(`server.${declared}()`, declared === 'resource' ? 'uri' : 'name', ownName, kind.string)
  const name = prefix + ownName
  const owner = `${declared} "${name}"`
  if (!isObject(definition)) {
    const fix = call(declared, name, definition)
    throw new Error(`The ${declared} "${name}" has ${preview(definition)} in place of its definition: ${fix}`)
  }
  checkOptions(owner, definition, kinds[declared], { ...handlers, ...renamed[declared] })
  const { enabled } = definition
  if (enabled === undefined || typeof enabled === 'boolean') return
  throw new Error(
    `"enabled" of ${owner} must be true or false, not ${preview(enabled)}: to decide by caller, write visibleTo`,
  )
}
