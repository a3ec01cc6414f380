# Objects of R's package dynaTree have the second of our two classes, and not the first.
# That package answers for them where S3 finds it; else they end here.
refuse_theirs <- function(...) {
  stop(simpleError(paste0("object is one of R's package dynaTree; call dynaTree::",
                          .Generic, "(), or fit with dyntree::dynaTree()."),
                   sys.call()))
}

# Methods for all other objects.
refuse_others <- function(...) {
  has_shares <- inherits(..1, "dyntree_trees") &&
    .Generic %in% c("relevance", "sens", "varpropuse", "varproptotal")
  stop(simpleError(paste0(.Generic, "() is for what dynaTree() returned; object is of class ",
                          paste(class(..1), collapse = ", "), ".",
                          if (has_shares) " summary() has the shares of its inputs."),
                   sys.call()))
}

# Stops unless an object is of this package; methods that need no cloud call it first.
check_ours <- function(object, call = sys.call(-1L))
  if (!inherits(object, "dyntree")) stop(simpleError(not_ours(object), call))

# What is wrong with an object that has no cloud of this package.
not_ours <- function(object) {
  if (!inherits(object, "dynaTree"))
    return(paste0("object must be what dynaTree() returned; it is of class ",
                  paste(class(object), collapse = ", "), "."))
  paste0("object is one of R's package dynaTree, whose trees this package cannot reach; ",
         "call the function of that package, or fit with dyntree::dynaTree().")
}

# Methods of S4 may be for fits, as for those of R's dynaTree.
setOldClass(c("dyntree", "dynaTree"))
