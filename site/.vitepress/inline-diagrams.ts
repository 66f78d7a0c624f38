import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'

/**
 * Puts the SVG of a diagram of docs/images/diagrams into the page in place of an image, so that its colors follow the theme that
 * the reader chose on the site. `theme/edgemcp.css` has the colors.
 *
 * @param folder docs/
 */
export function inlineDiagrams(markdown: MarkdownRenderer, folder: string): void {
  const image = markdown.renderer.rules.image
  markdown.renderer.rules.image = (tokens, index, options, env, self) => {
    const path = /images\/diagrams\/[\w-]+\.svg$/.exec(tokens[index]?.attrGet('src') ?? '')?.[0]
    if (path === undefined) return image?.(tokens, index, options, env, self) ?? ''
    return readFileSync(join(folder, path), 'utf8').replace(/<style>[\s\S]*?<\/style>/, '')
  }
}
