import { posix } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'

/** Rewrites relative links that leave docs/, such as `../../examples/hello`, to the file in the repository. */
export function repositoryLinks(markdown: MarkdownRenderer, repository: string): void {
  markdown.core.ruler.push('repository-links', ({ tokens, env }) => {
    // Titles are rendered without a page.
    if (env.relativePath === undefined) return
    const folder = posix.dirname(posix.join('docs', env.relativePath))
    for (const { children } of tokens) {
      for (const token of children ?? []) {
        const href = token.type === 'link_open' ? token.attrGet('href') : null
        if (href === null || /^([a-z]+:|[#/])/.test(href)) continue
        const target = posix.join(folder, href)
        if (!target.startsWith('docs/')) token.attrSet('href', `${repository}/blob/main/${target}`)
      }
    }
  })
}
