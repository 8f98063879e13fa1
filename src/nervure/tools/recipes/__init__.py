"""The recipes of ``nervure train``: data, a network and an optimiser that belong together, and what is made of them.

>>> list(RECIPES)
['digits', 'fashion', 'charlm', 'lstm', 'autoencoder']
"""

from __future__ import annotations

from nervure.tools.recipes.adding import AddingRecipe
from nervure.tools.recipes.autoencoder import AutoencoderRecipe
from nervure.tools.recipes.characters import CharactersRecipe
from nervure.tools.recipes.classifying import DigitsNetwork, DigitsRecipe, FashionNetwork, FashionRecipe
from nervure.tools.recipes.recipe import Recipe, RecipeData

RECIPES: dict[str, Recipe] = {"digits": DigitsRecipe(), "fashion": FashionRecipe(), "charlm": CharactersRecipe(),
                              "lstm": AddingRecipe(), "autoencoder": AutoencoderRecipe()}

__all__ = ["RECIPES", "DigitsNetwork", "FashionNetwork", "RecipeData", "Recipe"]
