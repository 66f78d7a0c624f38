/** edgemcp/page: what a person sees who opens the server's address in a browser. */
import type { Plugin } from '../../plugin.ts'
import { writePage } from './page.ts'

/**
 * A page at `/` for people: how to connect, and what everyone may see of what there is. It works without its script, and loads nothing.
 *
 * @example
 * serve(server, { plugins: [page()] })
 */
export const page = (): Plugin => ({
  name: 'page',
  routes: () => [{ path: '/', methods: ['GET', 'HEAD'], handle: writePage }],
})
