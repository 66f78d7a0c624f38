/**
 * Refuses code that was written for another library, with an error that names the code to write instead. A production bundle does not
 * contain this module: there, such code fails another check, or calls what is not a function.
 */
import { isObject } from '../protocol/jsonrpc.ts'
import { preview } from './check-options.ts'

export type Declared = 'tool' | 'resource' | 'prompt'

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
export function refuseOtherMethods(prototype: object): void {
  for (const [name, fix] of Object.entries(methodsOfOthers)) {
    Object.defineProperty(prototype, name, {
      value() {
        throw new Error(`edgemcp has no server.${name}(): ${fix}`)
      },
    })
  }
}

/** @throws Error for a definition that is not an object, and for a member that has another name or another place here */
export function refuseOtherDefinition(declared: Declared, name: string, definition: unknown): void {
  if (!isObject(definition)) {
    const fix = call(declared, name, definition)
    throw new Error(`The ${declared} "${name}" has ${preview(definition)} in place of its definition: ${fix}`)
  }
  const fixes = { ...handlers, ...renamed[declared] }
  for (const [member, fix] of Object.entries(fixes)) {
    if (definition[member] === undefined) continue
    throw new Error(`${declared} "${name}" does not take "${member}": ${fix}`)
  }
}
