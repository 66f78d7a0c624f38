import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import type { Awaitable } from '../../declarations/context.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { Module } from '../../declarations/server.ts'
import { extension } from '../../engine/extension.ts'
import type { Meta } from '../../protocol/types.ts'

export type AppOptions = {
  /** What it shows, for people who choose among apps. */
  description: string
  /** Default: its URI. */
  name?: string
  title?: string
  /** The document, whole: HTML5. A function is called whenever it is read. */
  html: string | (() => Awaitable<string>)
  /** Where the view may go besides itself, as origins. Default: nowhere. */
  csp?: {
    readonly connectDomains?: readonly string[]
    readonly resourceDomains?: readonly string[]
    readonly frameDomains?: readonly string[]
    readonly baseUriDomains?: readonly string[]
  }
  /** What the view may ask its host for: `{ clipboardWrite: {} }`. */
  permissions?: Partial<Record<'camera' | 'microphone' | 'geolocation' | 'clipboardWrite', Record<string, never>>>
  /** An origin of its own, in the host's words. */
  domain?: string
  prefersBorder?: boolean
  /** What a token must allow to read the view. `[]`: nothing more than to be signed in. Default: nothing. */
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

/** An app: to plug in, and to show what tools return. */
export type App = Module & {
  /**
   * What a tool says to be shown by it: `_meta: chart.toolMeta()`.
   *
   * @param visibility who calls the tool. Default: the model and the app
   */
  toolMeta(visibility?: readonly ('model' | 'app')[]): Meta
}

/**
 * An interface that hosts draw for what tools return. Clients that draw none get the tool's content as ever.
 *
 * @example
 * const chart = app('ui://chart', { description: 'Draws a chart', html })
 * server.use(chart)
 * server.tool('sales', { description: 'Sales by month', outputSchema: Sales, _meta: chart.toolMeta() }, sales)
 *
 * @throws Error when its URI does not begin with `ui://`
 *
 * @see https://modelcontextprotocol.io/seps/1865-mcp-apps-interactive-user-interfaces-for-mcp
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
