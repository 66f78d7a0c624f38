import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import type { Awaitable } from '../../declarations/context.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { Module } from '../../declarations/server.ts'
import { extension } from '../../engine/extension.ts'
import type { Meta } from '../../protocol/types.ts'

/** Describes an app and its document. */
export type AppOptions = {
  /** Explains what the app shows. */
  description: string
  /** Name of its resource. Default: its URI. */
  name?: string
  /** Name for users. Default: none. */
  title?: string
  /** The whole document, HTML5, or a function that returns it for each read. */
  html: string | (() => Awaitable<string>)
  /** Origins that the document may use, by directive. Default: none. */
  csp?: {
    readonly connectDomains?: readonly string[]
    readonly resourceDomains?: readonly string[]
    readonly frameDomains?: readonly string[]
    readonly baseUriDomains?: readonly string[]
  }
  /** Browser features that the document may request of its host: `{ clipboardWrite: {} }`. Default: none. */
  permissions?: Partial<Record<'camera' | 'microphone' | 'geolocation' | 'clipboardWrite', Record<string, never>>>
  /** Origin under which the host shows the document; its form depends on the host. Default: the host decides. */
  domain?: string
  /** Whether the host should draw a border around the document. Default: the host decides. */
  prefersBorder?: boolean
  /** Scopes that a token needs to read the document; `[]` admits every caller that `auth` accepts. Default: none. */
  scopes?: readonly string[]
}

const kinds: KindsOf<AppOptions> = {
  description: kind.required(kind.string),
  name: kind.string,
  title: kind.string,
  html: kind.required(kind.stringOrFunction),
  csp: kind.object({
    connectDomains: kind.strings,
    resourceDomains: kind.strings,
    frameDomains: kind.strings,
    baseUriDomains: kind.strings,
  }),
  permissions: kind.object(),
  domain: kind.string,
  prefersBorder: kind.flag,
  scopes: kind.strings,
}

/** Registers the document of an app, as a module for `server.use`, and describes it to tools. */
export type App = Module & {
  /**
   * Returns the `_meta` of a tool whose results the app shows.
   *
   * @param visibility who calls the tool. Default: the model and the app
   */
  toolMeta(visibility?: readonly ('model' | 'app')[]): Meta
}

/**
 * Creates an app: an HTML document in which hosts show the results of tools. Clients without support for apps get the content of the tool.
 *
 * @param uri a URI that starts with `ui://`
 * @throws Error for another URI, or an invalid option. The message names the fix
 * @see https://modelcontextprotocol.io/seps/1865-mcp-apps-interactive-user-interfaces-for-mcp
 *
 * @example
 * const chart = app('ui://chart', { description: 'Draws a chart', html })
 * server.use(chart)
 * server.tool('sales', { description: 'Sales by month', outputSchema: Sales, _meta: chart.toolMeta() }, sales)
 */
export function app(uri: `ui://${string}`, options: AppOptions): App {
  checkOptions('app()', options, kinds)
  const { description, name = uri, title, html, csp, permissions, domain, prefersBorder, scopes } = options
  if (!/^ui:\/\/./.test(uri)) throw new Error(`The app "${uri}" needs a URI that begins with ui://`)
  // What is undefined is not sent.
  const ui = { csp, permissions, domain, prefersBorder }
  const register: Module = (server) => {
    server.resource(
      uri,
      { name, title, description, mimeType: 'text/html;profile=mcp-app', _meta: { ui }, ...(scopes && { scopes }) },
      async () => ({
        uri,
        text: typeof html === 'string' ? html : await html(),
        _meta: { ui },
      }),
    )
    server.use(extension('io.modelcontextprotocol/ui', {}))
  }
  // The flat key is what hosts looked for before.
  const toolMeta: App['toolMeta'] = (visibility) => ({ ui: { resourceUri: uri, visibility }, 'ui/resourceUri': uri })
  return Object.assign(register, { toolMeta })
}
