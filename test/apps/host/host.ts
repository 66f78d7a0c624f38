/** A host as small as can be: a client of the server, a bridge to the view, and what must be seen to between them. */
import {
  type CallToolResult,
  Client,
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type Tool,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client'
import {
  AppBridge,
  getToolUiResourceUri,
  isToolVisibilityAppOnly,
  isToolVisibilityModelOnly,
  type McpUiResourceMeta,
  type McpUiTheme,
  PostMessageTransport,
  RESOURCE_MIME_TYPE,
} from '@modelcontextprotocol/ext-apps/app-bridge'

/** How the page is opened, as its query. */
export type Settings = {
  mode: VersionNegotiationMode
  theme: McpUiTheme
  /** Whether views may call tools. */
  proxies: boolean
}

export type Host = {
  /** The names of the tools that the model gets to see. */
  readonly modelTools: readonly string[]
  /** What was said between host and view, in order: `< ui/initialize`, `> answer`. */
  readonly said: readonly string[]
  /** What the view told the model. */
  readonly told: readonly unknown[]
  readonly bridge: AppBridge
  /** Calls a tool as the model would, and draws its view. Resolves when the view was sent the result. */
  call(name: string, input: Record<string, unknown>): Promise<CallToolResult>
  /** The half of a call that does not wait for the server: a view that was sent the input. */
  open(name: string, input: Record<string, unknown>): Promise<void>
}

declare global {
  interface Window {
    host: Host
  }
}

const { mode, theme, proxies } = JSON.parse(new URLSearchParams(location.search).get('settings') ?? '') as Settings
const sandbox = `http://localhost:${location.port}/sandbox`
const said: string[] = []
const told: unknown[] = []

const client = new Client(
  { name: 'host', version: '1.0.0' },
  {
    versionNegotiation: { mode },
    capabilities: { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [RESOURCE_MIME_TYPE] } } },
  },
)
await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', location.href)))
const { tools } = await client.listTools()

const bridge = new AppBridge(
  null,
  { name: 'host', version: '1.0.0' },
  { ...(proxies && { serverTools: {} }), updateModelContext: { text: {} } },
  { hostContext: { theme, displayMode: 'inline' } },
)
bridge.oncalltool = async (call) => {
  if (isToolVisibilityModelOnly(toolNamed(call.name))) throw new Error(`Views may not call ${call.name}`)
  return client.callTool(call)
}
bridge.onupdatemodelcontext = async (context) => {
  told.push(context)
  return {}
}

function toolNamed(name: string): Tool {
  const tool = tools.find((tool) => tool.name === name)
  if (!tool) throw new Error(`There is no tool ${name}`)
  return tool
}

class Overheard extends PostMessageTransport {
  override async start(): Promise<void> {
    const { onmessage } = this
    this.onmessage = (message) => {
      said.push(`< ${kindOf(message)}`)
      onmessage?.(message)
    }
    await super.start()
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    said.push(`> ${kindOf(message)}`)
    await super.send(message)
  }
}

function kindOf(message: JSONRPCMessage): string {
  return 'method' in message ? message.method : 'result' in message ? 'answer' : 'error'
}

async function open(name: string, input: Record<string, unknown>): Promise<void> {
  const { contents } = await client.readResource({ uri: getToolUiResourceUri(toolNamed(name)) ?? '' })
  const [resource] = contents
  if (!resource || !('text' in resource) || resource.mimeType !== RESOURCE_MIME_TYPE) throw new Error('This is no view')
  const { csp } = (resource._meta?.ui ?? {}) as McpUiResourceMeta

  const frame = document.createElement('iframe')
  frame.title = name
  frame.setAttribute('sandbox', 'allow-scripts allow-same-origin')
  // The policy is a header of the sandbox, so that nothing in the view comes before it.
  frame.src = `${sandbox}?csp=${encodeURIComponent(JSON.stringify(csp ?? {}))}`
  document.body.append(frame)
  const window = frame.contentWindow as Window
  const ready = happened('sandboxready')
  const initialized = happened('initialized')
  await bridge.connect(new Overheard(window, window))
  bridge.addEventListener('sizechange', ({ height }) => {
    // Its borders are not the view's.
    frame.style.height = `${(height ?? 0) + 2}px`
  })

  await ready
  await bridge.sendSandboxResourceReady({ html: resource.text, csp })
  await initialized
  await bridge.sendToolInput({ arguments: input })
}

function happened(event: 'sandboxready' | 'initialized'): Promise<void> {
  return new Promise((resolve) => bridge.addEventListener(event, () => resolve()))
}

async function call(name: string, input: Record<string, unknown>): Promise<CallToolResult> {
  const [result] = await Promise.all([client.callTool({ name, arguments: input }), open(name, input)])
  await bridge.sendToolResult(result)
  return result
}

const modelTools = tools.filter((tool) => !isToolVisibilityAppOnly(tool)).map(({ name }) => name)
document.documentElement.style.colorScheme = theme
window.host = { modelTools, said, told, bridge, open, call }
document.body.dataset.ready = 'yes'
