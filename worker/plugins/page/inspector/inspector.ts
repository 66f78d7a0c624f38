/** `inspector()`: serves the inspector in a deployment. */

import { checkOptions } from '../../../declarations/check-options.ts'
import * as kind from '../../../declarations/option-kinds.ts'
import type { Auth, Plugin, Route } from '../../../plugin.ts'
import { inspectorPage } from './page.ts'

/** Decides who uses the inspector. */
export type InspectorOptions =
  /** The same auth that `serve()` receives. */
  | { auth: Auth }
  /** Everyone who opens the page calls all entries: for servers without private data. */
  | { open: true }

/**
 * Creates a plugin that serves the inspector at `/` in a deployment. In development, `wrangler dev` serves it without the plugin.
 *
 * @param options the `auth` of `serve()`, or `{ open: true }` for a server without private data
 * @throws Error without `auth` and `open`, and for an invalid option. The message names the fix
 *
 * @example
 * serve(server, { auth, plugins: [inspector({ auth })] })
 */
export function inspector(options: InspectorOptions): Plugin {
  checkOptions('inspector()', options, { auth: kind.auth, open: kind.flag })
  const { auth, open }: { auth?: Auth; open?: boolean } = options // each member of the union has one of them
  if (!auth && open !== true) {
    throw new Error(
      'inspector() without auth lets every caller call everything: pass it the auth of serve(), or { open: true }',
    )
  }
  const handle: Route['handle'] = async (request, host) => {
    if (auth && host.auth !== auth) {
      throw new Error('inspector({ auth }) has a different auth than serve(): pass the same value to both')
    }
    return inspectorPage(request, host, 'client')
  }
  return { name: 'inspector', routes: () => [{ path: '/', methods: ['GET', 'HEAD'], handle }] }
}
