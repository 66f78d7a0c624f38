import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitepress'
import llms from 'vitepress-plugin-llms'
import { inlineDiagrams } from './inline-diagrams.ts'
import { sections } from './navigation.ts'
import { repositoryLinks } from './repository-links.ts'

const site = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(readFileSync(fileURLToPath(new URL('../../package.json', import.meta.url)), 'utf8'))
const repository: string = manifest.repository.url.replace(/^git\+|\.git$/g, '')
const description: string = manifest.description

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
  head: [['meta', { name: 'color-scheme', content: 'light dark' }]],
  markdown: {
    config: (markdown) => markdown.use(repositoryLinks, repository).use(inlineDiagrams, `${site}../docs`),
  },
  vite: {
    publicDir: fileURLToPath(new URL('../public', import.meta.url)),
    plugins: [vueOfThisPackage, llms({ domain: manifest.homepage, ignoreFiles: ['README.md'] })],
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Guides', link: '/guides/tools', activeMatch: '^/guides/' },
      { text: 'Reference', link: '/reference/api/', activeMatch: '^/reference/' },
      {
        text: manifest.version,
        items: [{ text: 'Changelog', link: `${repository}/blob/main/CHANGELOG.md` }],
      },
    ],
    sidebar: sections.map(({ text, pages, collapsed }) => ({
      text,
      ...(collapsed && { collapsed }),
      items: pages.map(([path, title]) => ({ text: title, link: `/${path.replace(/index$/, '')}` })),
    })),
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: { pattern: `${repository}/edit/main/docs/:path`, text: 'Edit this page' },
    footer: { message: 'MIT License' },
  },
})
