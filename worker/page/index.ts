/** edgemcp/page: what a person sees who opens the server's address in a browser. */
export { page } from './page.ts'
