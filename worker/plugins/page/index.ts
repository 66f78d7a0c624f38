/** edgemcp/page: Serve a page at `/` that explains to people how to connect. */
import type { Plugin } from '../../plugin.ts'
import { writePage } from './page.ts'

/**
 * Creates a plugin that serves a page at `/` for people: how to connect, and the entries that every caller sees. It works without scripts,
 * and loads nothing from elsewhere.
 *
 * @example
 * serve(server, { plugins: [page()] })
 */
export const page = (): Plugin => ({
  name: 'page',
  routes: () => [{ path: '/', methods: ['GET', 'HEAD'], handle: writePage }],
})
