/** The sentences in the sources that say what is wrong: to whoever writes a server, to its log, to its clients. */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import type { BinaryExpression, NewExpression, Node, StringLiteral, TemplateExpression } from 'typescript/unstable/ast'
import { SyntaxKind } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'
import { root } from './pages.ts'

export type Message = {
  /** `…` in the place of what differs from time to time. */
  readonly text: string
  readonly file: string
}

/** Rooms whose texts are not about mistakes: what a person sees in a browser, and the client for tests. */
const silent =
  /^worker\/(plugins\/page\/(?!inspector)|plugins\/sign-in\/(consent-page|account-pages|cookies)|client|testing|main)\b/

/** What others are put together from, and what is no sentence. */
const parts = new Set([
  '"…" of the …',
  '"…" of … has',
  'The url of introspection',
  'The keys URL',
  'In a response of a session',
  'On a stream of a session',
  'The call',
  'The call with its answers',
  'The duration of the sleep "…"',
  '"params" of the input request "…" has',
  'The ttl of the cursor "…"',
  'The position of a cursor of "…" has',
  'The ttl of the state "…"',
  '…, or Infinity',
  'The message',
  'The result',
  'The introspection_endpoint',
  'The issuer',
  'The jwks_uri',
  'The prompt "…"',
  'The resource "…"',
  '… for the tool "…"',
  'The method "…"',
  'Stored result',
  'Result of …',
  'Stored until …. Read it with resources/read; add ?offset=…&length=… for a part.',
  'A large result of a tool. offset and length select bytes; without them, the first ones are returned, with the URI of the next ones.',
  'The tool "…"',
  'The model\'s tool "…"',
  'Tool "…" returned',
  'The … has',
  'Cannot store …:',
  'Too many calls are running',
  'Too many calls of … are running',
  'Too many streams are open',
  'Wait … …, then try again',
  'Belongs to the skill …',
  'Search documents',
  'Finds documents by a query, best first. Read a document by its id.',
  'Words or a question',
  'Read a document',
  'Returns the whole text of a document that a search found, by its id.',
  'The id of a document that a search found',
  '… has a tool_use: only the assistant calls tools',
  '… has a tool_result: only the user gives results',
  '… has other content beside tool_result',
  '… must have the tool_result of the tool_use "…"',
  '… has the tool_result "…", which no tool_use of the message before is open for',
  '… uses one id for several tool_use',
  'The last message has the tool_use "…" without its tool_result',
  '… has the rate',
  '… has the quota',
  '… of signIn()',
  '…() of apiKeys()',
  '"claims" of create() of apiKeys() has',
  '…, and at least 1m',
  'Cloudflare Access',
  'The parameter "…" of the API',
  '… (the parameter "…" of the API)',
  '… or more',
  '… changes a session',
  '… is about a session',
])

const isSentence = (text: string) =>
  // An upper-case letter or a name first, and a few words; no SQL, no HTML.
  /^(?:[A-Z"…*])/.test(text) &&
  text
    .replace(/"[^"]*"/g, 'x')
    .split(/\s+/)
    .filter((word) => /[a-z]{2}/.test(word)).length >= 2 &&
  !/^(?:SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|PRAGMA|Bearer|…?<)/.test(text) &&
  !/^(?:Accept, Auth|Mcp-Session-Id, |Content-Disposition: |…=…; Path)/.test(text)

export function messages(): Message[] {
  const files = globSync('{worker,durable-objects}/**/*.ts', { cwd: root })
    .filter((path) => !silent.test(path))
    .sort()
  const api = new API({ cwd: root })
  try {
    const project = api.updateSnapshot({ openProjects: [join(root, 'tsconfig.json')] }).getProjects()[0]
    return files.flatMap((file) => {
      const source = project?.program.getSourceFile(join(root, file))
      if (!source) throw new Error(`${file} is not compiled`)
      const found: Message[] = []
      const visit = (node: Node, isInside: boolean): void => {
        const text = textOf(node)
        if (text !== undefined && (isInside ? / /.test(text.trim()) : isSentence(text)) && !parts.has(text.trim())) {
          // What follows is to be copied.
          found.push({ text: text.trim().split('\n')[0] ?? '', file })
        }
        if (text !== undefined && node.kind === SyntaxKind.BinaryExpression) return
        node.forEachChild((child) => visit(child, isInside ? !isFunction(child) : isSaid(node)))
      }
      visit(source, false)
      return found
    })
  } finally {
    api.close()
  }
}

const isSaid = (node: Node) =>
  (node.kind === SyntaxKind.NewExpression || node.kind === SyntaxKind.CallExpression) &&
  /^(?:(?:Mcp|Type|UnlistedScope)?Error|console\.warn)$/.test((node as NewExpression).expression.getText())

const isFunction = (node: Node) => node.kind === SyntaxKind.ArrowFunction || node.kind === SyntaxKind.FunctionExpression

/** Of a text, also one that is put together; `undefined` of anything else. */
function textOf(node: Node): string | undefined {
  if (node.kind === SyntaxKind.StringLiteral || node.kind === SyntaxKind.NoSubstitutionTemplateLiteral) {
    return (node as StringLiteral).text
  }
  if (node.kind === SyntaxKind.TemplateExpression) {
    const { head, templateSpans } = node as TemplateExpression
    return head.text + templateSpans.map(({ literal }) => `…${literal.text}`).join('')
  }
  if (node.kind === SyntaxKind.BinaryExpression) {
    const { left, operatorToken, right } = node as BinaryExpression
    if (operatorToken.kind !== SyntaxKind.PlusToken) return undefined
    const [first, second] = [textOf(left), textOf(right)]
    return first !== undefined && second !== undefined ? first + second : undefined
  }
  return undefined
}

/** As it is written in a table of a page. */
export const inTable = (text: string) => text.replace(/\s+/g, ' ').replaceAll('|', '\\|')
