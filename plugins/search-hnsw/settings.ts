import { Type, type Static } from 'typebox'
import { defineSection } from '../../kernel/index.ts'

export type SearchSettings = Static<typeof searchSection.schema>
export const searchSection = defineSection('search', 'Finding tools', {
  model: Type.String({
    default: '', format: 'directory-or-name',
    description: 'The model that compares meanings: a folder, or a name on the Hugging Face hub; by default the bundled one; "none": words alone'
  }),
  preload: Type.Boolean({ default: false, description: 'Load the model at the start, not at the first search' }),
  allow_download: Type.Boolean({
    default: false, description: 'Download the model that search.model names, where it is not there yet'
  })
})

/** The name of the plugin and its settings, which commands need without the plugin. */
export const declared = { name: 'search-hnsw', sections: [searchSection] }
