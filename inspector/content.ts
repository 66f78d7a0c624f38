/** Shows the result of a tool, prompt or resource. */
import type { ContentBlock, Params, PromptMessage, ResourceContents } from '../worker/protocol/types.ts'
import type { RpcError } from '../worker/testing/index.ts'
import { button, type Child, make } from './element.ts'
import { tree } from './json.ts'

export type Reading = (uri: string) => void

/** Shows the result of any method: known content as elements, the rest as JSON. */
export function resultOf(result: Params, read: Reading): Child[] {
  const { content, messages, contents, structuredContent, isError } = result as {
    content?: ContentBlock[]
    messages?: PromptMessage[]
    contents?: ResourceContents[]
    structuredContent?: unknown
    isError?: boolean
  }
  if (!content && !messages && !contents) return [tree(result)]
  return [
    isError && make('p', { class: 'bad' }, 'The tool returned an error:'),
    content?.map((block) => blockOf(block, read)),
    messages?.map(({ role, content }) =>
      make(
        'div',
        {},
        make('h4', {}, role),
        [content].flat().map((block) => blockOf(block, read)),
      ),
    ),
    contents?.map(resourceOf),
    structuredContent !== undefined && [make('h4', {}, 'Structured'), tree(structuredContent, undefined, 2)],
  ]
}

export function errorOf(problem: unknown): Child[] {
  const { name, message, code, status, data } = problem as RpcError
  const numbers = name === 'RpcError' ? ` (${code ? `code ${code}, ` : ''}HTTP ${status})` : ''
  return [make('p', { class: 'bad' }, `${message}${numbers}`), data !== undefined && tree(data)]
}

export function blockOf(block: ContentBlock, read: Reading): Child {
  if (block.type === 'text') return make('pre', {}, block.text)
  if (block.type === 'image') return imageOf(block.mimeType, block.data)
  if (block.type === 'audio') return make('audio', { controls: true, src: dataUrl(block.mimeType, block.data) })
  if (block.type === 'resource_link') return linkOf(block, read)
  if (block.type === 'resource') return resourceOf(block.resource)
  return tree(block)
}

const linkOf = ({ uri, title, name }: { uri: string; title?: string; name: string }, read: Reading) =>
  make(
    'p',
    {},
    `${title ?? name} `,
    make('code', {}, uri),
    ' ',
    button('Read', () => read(uri), { 'aria-label': `Read ${uri}` }),
  )

function resourceOf(resource: ResourceContents): Child {
  const { uri, mimeType = '' } = resource
  const head = make('p', { class: 'hint' }, make('code', {}, uri), ` ${mimeType}`)
  if ('text' in resource) return [head, make('pre', {}, resource.text)]
  if (mimeType.startsWith('image/')) return [head, imageOf(mimeType, resource.blob)]
  return [head, make('p', {}, `${atob(resource.blob).length} bytes`)]
}

const imageOf = (mimeType: string, data: string) =>
  make('img', { src: dataUrl(mimeType, data), alt: `An image: ${mimeType}` })

const dataUrl = (mimeType: string, data: string) => `data:${mimeType};base64,${data}`
