/** The inspector in a deployment. */

import { checkOptions } from '../../../declarations/check-options.ts'
import * as kind from '../../../declarations/option-kinds.ts'
import type { Plugin, Route } from '../../../plugin.ts'
import type { Auth } from '../../../request-hooks.ts'
import { inspectorPage } from './page.ts'

export type InspectorOptions =
  /** What guards the server: the same as `serve` is given. */
  | { auth: Auth }
  /** Everybody who opens the page may call everything: for servers that have nothing to hide. */
  | { open: true }

/**
 * The inspector as a page at `/`, for deployments. `wrangler dev` has it there anyway.
 *
 * @example
 * serve(server, { auth, plugins: [inspector({ auth })] })
 *
 * @throws Error when nothing guards the server and nobody has said that this is meant
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
