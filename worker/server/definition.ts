/** Definitions have known members only: a member that is ignored is a mistake that nobody is told about. */
import type { Server } from './server.ts'

type Kind = 'tool' | 'resource' | 'prompt'

const visibility = ['scopes', 'limit', 'listed', 'enabled', 'initially'] as const

const members: Readonly<Record<Kind, readonly string[]>> = {
  tool: ['title', 'description', 'input', 'output', 'annotations', 'single', 'task', 'icons', '_meta', ...visibility],
  resource: [
    ...['name', 'title', 'description', 'mimeType', 'size', 'annotations', 'icons', '_meta', 'caching'],
    ...['readable', 'list', 'complete', ...visibility],
  ],
  prompt: ['title', 'description', 'args', 'complete', 'icons', '_meta', ...visibility],
}

/** What other libraries call a member, and what it is called here. */
const renamed: Readonly<Record<Kind, Readonly<Record<string, string>>>> = {
  tool: {
    inputSchema: 'write "input"',
    parameters: 'write "input"',
    outputSchema: 'write "output"',
    name: 'give the name as the first argument',
  },
  resource: { uri: 'give the URI as the first argument', template: 'give the URI template as the first argument' },
  prompt: { argsSchema: 'write "args"', arguments: 'write "args"', name: 'give the name as the first argument' },
}

const handlers = new Set(['handler', 'execute', 'callback', 'run'])

/** @throws Error for a definition that is no object, and for one with a member that has no meaning */
export function checkDefinition(kind: Kind, name: string, definition: unknown): void {
  if (typeof definition !== 'object' || definition === null) {
    throw new Error(
      `The ${kind} "${name}" has ${kindOf(definition)} where its definition belongs: ${call(kind, name, definition)}`,
    )
  }
  const known = members[kind]
  for (const [member, value] of Object.entries(definition)) {
    if (value === undefined || known.includes(member)) continue
    const advice = handlers.has(member) ? 'give the handler as the third argument' : renamed[kind][member]
    const fix = advice ?? `it takes ${known.slice(0, -1).join(', ')} and ${known.at(-1)}`
    throw new Error(`The definition of ${kind} "${name}" has the member "${member}", which means nothing here: ${fix}`)
  }
}

function kindOf(value: unknown): string {
  if (typeof value === 'string') return 'a text'
  return value === undefined || value === null ? String(value) : `a ${typeof value}`
}

/** The call that was meant. */
function call(kind: Kind, name: string, definition: unknown): string {
  if (kind === 'tool') {
    return `write server.tool("${name}", { description: "…", input: z.object({ … }) }, handler)`
  }
  if (kind === 'prompt') {
    return `write server.prompt("${name}", { description: "…", args: z.object({ … }) }, handler)`
  }
  // The official SDK takes the name first.
  const [uri, described] = typeof definition === 'string' ? [definition, `name: "${name}", `] : [name, '']
  return `write server.resource("${uri}", { ${described}description: "…" }, handler)`
}

/** Methods that servers of the official SDK have, and what takes their place. */
const methodsOfSdk: Readonly<Record<string, string>> = {
  registerTool: 'write server.tool(name, { description, input: schema }, handler)',
  registerResource: 'write server.resource(uri, { name, description }, handler)',
  registerPrompt: 'write server.prompt(name, { description, args: schema }, handler)',
  setRequestHandler:
    'declare tools, resources and prompts instead, or use server.intercept(fn) to run code around every call',
  connect: 'write export default serve(server), which takes the place of a transport',
}

/** Gives a class of servers the methods of the official SDK's, each of which throws an error that says what to write. */
export function refuseMethodsOfSdk(prototype: Server): void {
  for (const [name, fix] of Object.entries(methodsOfSdk)) {
    Object.defineProperty(prototype, name, {
      value() {
        throw new Error(`server.${name}() is of the official SDK: ${fix}`)
      },
    })
  }
}
