import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { slug } from 'github-slugger'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitepress'
import { inlineDiagrams } from './inline-diagrams.ts'
import { firstSentenceOf, writeMarkdownCopies } from './markdown-copies.ts'
import { type Section, sections } from './navigation.ts'
import { repositoryLinks } from './repository-links.ts'

const site = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(readFileSync(fileURLToPath(new URL('../../package.json', import.meta.url)), 'utf8'))
const repository: string = manifest.repository.url.replace(/^git\+|\.git$/g, '')
const description: string = manifest.description

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" fill="#b3450b"/><path d="M8 0a8 8 0 0 1 0 16z" fill="#ffa057"/></svg>'

/** Pages are compiled to modules that import Vue. docs/ is outside of this package, so the import is resolved from here. */
const vueOfThisPackage: Plugin = {
  name: 'vue-of-this-package',
  enforce: 'pre',
  resolveId(source, _importer, options) {
    if (!/^vue(\/|$)/.test(source)) return undefined
    return options?.ssr
      ? { id: source, external: true }
      : this.resolve(source, `${site}package.json`, { skipSelf: true })
  },
}

const isFirst = ({ within }: Section, path: string) => within !== undefined && path.startsWith(within)

/** The sections that stand beside pages whose paths begin with `path`. Those of these pages only come first. */
const sidebarOf = (path: string) =>
  sections
    .filter((section) => section.within === undefined || isFirst(section, path))
    .toSorted((one, other) => Number(isFirst(other, path)) - Number(isFirst(one, path)))
    .map(({ text, pages }) => ({
      text,
      items: pages.map(([page, title]) => ({ text: title, link: `/${page.replace(/index$/, '')}` })),
    }))

export default defineConfig({
  title: 'edgemcp',
  description,
  lang: 'en-US',
  srcDir: '../docs',
  // The list of pages for readers of the repository; the site has a sidebar.
  srcExclude: ['README.md'],
  outDir: './dist',
  cleanUrls: true,
  lastUpdated: false,
  head: [
    ['meta', { name: 'color-scheme', content: 'light dark' }],
    ['link', { rel: 'icon', type: 'image/svg+xml', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }],
  ],
  sitemap: { hostname: manifest.homepage },
  transformPageData({ relativePath }) {
    const sentence = firstSentenceOf(readFileSync(`${site}../docs/${relativePath}`, 'utf8'))
    const plain = sentence.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '')
    return plain === '' ? {} : { description: plain }
  },
  // What a chat or a search shows of a link.
  transformHead: ({ title, description }) => [
    ['meta', { property: 'og:title', content: title }],
    ['meta', { property: 'og:description', content: description }],
  ],
  markdown: {
    // Headings have the anchors that they have on GitHub.
    anchor: { slugify: slug },
    // Every color of code has a contrast of at least 4.5:1 (WCAG 2.2, 1.4.3).
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: (markdown) => markdown.use(repositoryLinks, repository).use(inlineDiagrams, `${site}../docs`),
  },
  vite: {
    publicDir: fileURLToPath(new URL('../public', import.meta.url)),
    plugins: [vueOfThisPackage],
  },
  buildEnd: ({ outDir }) =>
    writeMarkdownCopies({
      source: `${site}../docs`,
      target: outDir,
      homepage: manifest.homepage,
      repository,
      description,
    }),
  // The home page of the theme has no landmark.
  transformHtml: (html) => html.replace('<div class="VPHome"', '<div role="main" class="VPHome"'),
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/start/first-server', activeMatch: '^/start/' },
      { text: 'Cookbook', link: '/cookbook/', activeMatch: '^/cookbook/' },
      { text: 'Guides', link: '/guides/tools', activeMatch: '^/guides/' },
      { text: 'Reference', link: '/reference/api/', activeMatch: '^/reference/' },
      {
        text: manifest.version,
        items: [
          { text: 'Roadmap', link: '/roadmap' },
          { text: 'Changelog', link: `${repository}/blob/main/CHANGELOG.md` },
        ],
      },
    ],
    sidebar: {
      '/': sidebarOf(''),
      '/cookbook/': sidebarOf('cookbook/'),
      '/reference/api/': sidebarOf('reference/api/'),
    },
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: { pattern: `${repository}/edit/main/docs/:path`, text: 'Edit this page' },
    footer: { message: 'MIT License' },
  },
})
