import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { sections } from './navigation.ts'

type Places = {
  /** docs/ */
  readonly source: string
  /** The folder of the built site. */
  readonly target: string
  /** The address of the site, without a slash at its end. */
  readonly homepage: string
  readonly repository: string
  readonly description: string
}

const withoutComments = (markdown: string) => markdown.replace(/<!--[\s\S]*?-->\n?/g, '')

/** The first sentence below the title of a page. Empty if the page begins with something else. */
export function firstSentenceOf(markdown: string): string {
  const text = withoutComments(markdown)
  const [, summary = ''] = /^# .*\n+((?:[A-Z]|`(?!``))[^\n]*(?:\n[^\n]+)*)/m.exec(text) ?? []
  const [sentence = ''] = summary.replace(/\s+/g, ' ').split(/(?<=\.) /)
  return sentence
}

/**
 * Writes what language models read: each page as Markdown (`/guides/tools.md`), a list of all pages (`/llms.txt`), and all pages in one
 * file (`/llms-full.txt`). Links are whole addresses, because the files are read apart from one another.
 *
 * @see https://llmstxt.org
 */
export function writeMarkdownCopies({ source, target, homepage, repository, description }: Places): void {
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(target, path)), { recursive: true })
    writeFileSync(join(target, path), text)
  }

  function addressOf(page: string, link: string): string {
    if (/^([a-z]+:|#)/.test(link)) return link
    const [path = '', anchor] = link.split('#')
    const file = posix.join('docs', dirname(page), path)
    const hash = anchor === undefined ? '' : `#${anchor}`
    if (file.startsWith('docs/images/')) return `${repository}/raw/main/${file}`
    if (!/^docs\/.*\.md$/.test(file)) return `${repository}/blob/main/${file}${hash}`
    return `${homepage}/${file.slice('docs/'.length)}${hash}`
  }

  const list: string[] = [`# edgemcp\n\n> ${description}\n`]
  const all: string[] = []
  for (const { text, pages } of sections) {
    list.push(`## ${text}\n`)
    for (const [path, title] of pages) {
      const page = `${path}.md`
      const markdown = withoutComments(readFileSync(join(source, page), 'utf8')).replace(
        /(\]\()([^)\s]+)(\))/g,
        (_, open, link, close) => `${open}${addressOf(page, link)}${close}`,
      )
      write(page, markdown)
      all.push(markdown)
      const sentence = firstSentenceOf(markdown)
      list.push(`- [${title}](${homepage}/${page})${sentence ? `: ${sentence}` : ''}`)
    }
    list.push('')
  }
  write('llms.txt', list.join('\n'))
  write('llms-full.txt', all.join('\n\n---\n\n'))
}
